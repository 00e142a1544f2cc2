"""The HTML report in a browser: it opens from disk, shows the right figures, and does what the reader asks."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.synthetic import decoder_graph
from graphmem.render.html.page import as_page
from graphmem.report.moments import placed
from graphmem.report.report import Report
from graphmem.units import format_bytes
from tests import example_reports
from tests.render.browser import Browser, needs_browser, started
from tests.steps import MIB, report_of, tower

pytestmark = needs_browser

OVER = "#chart .u-over"
LIMIT_BYTES, LIMIT_MS = 10_000_000, 2000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def report() -> Report:
    return report_of(tower(), allocator="exact", limit=20 * MIB)


@pytest.fixture(scope="module")
def file(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "report.html"
    path.write_text(as_page(report), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Browser]:
    browser.size(1280, 900)
    browser.media()
    browser.open(file)
    browser.run("localStorage.clear()")
    browser.driver.refresh()
    yield browser
    assert browser.complaints() == []


def shown(page: Browser) -> list[list[str]]:
    """The cells of the table of tensors."""
    script = (
        "return [...document.querySelectorAll('#tensor-table tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    )
    return [[cell.strip() for cell in row] for row in page.run(script)]


def reading(page: Browser) -> int:
    """The position that is read beside the chart."""
    found = re.search(r"position ([\d,]+) of", page.text("#reading-title"))
    assert found is not None
    return int(found[1].replace(",", ""))


def position_at(report: Report, share: float) -> int:
    return int(share * report.peak.positions)


def test_it_opens_with_the_peak(page: Browser, report: Report) -> None:
    assert page.run("return document.documentElement.dataset.ready") == "yes"
    assert page.text("#peak-figure") == format_bytes(report.needed_bytes) == "14.0 MiB"
    assert page.text("#reading-title b") == "14.0 MiB"
    assert reading(page) == report.peak.position
    assert page.text("#tensor-sum") == "14 tensors, 14.0 MiB."
    assert page.text("#scope-path") == "everything: 14.0 MiB"
    assert page.run("return document.querySelectorAll('#frontier svg').length") == 1
    assert not page.element("#pages").is_displayed()


def test_pointing_reads_a_moment_and_chooses_none(page: Browser, report: Report) -> None:
    page.mouse(OVER, 0.3)
    there = position_at(report, 0.3)
    assert abs(reading(page) - there) <= 1
    total = report.timeline.total[reading(page)] + MIB
    assert page.text("#reading-title b") == format_bytes(total)
    assert page.text("#tensor-sum") == "14 tensors, 14.0 MiB."
    page.mouse("#summary-title", 0.5)
    assert reading(page) == report.peak.position


def test_a_click_shows_what_is_alive_then(page: Browser, report: Report) -> None:
    page.mouse(OVER, 0.3, press=True)
    position = reading(page)
    assert position != report.peak.position
    simulation = report.simulation
    lives, ops = simulation.lifetimes, simulation.graph.ops
    alive = {
        f"{ops[op].name}:0"
        for op, born, freed, resident in zip(lives.op, lives.born, lives.freed, lives.resident, strict=True)
        if born <= position < freed and not resident
    }
    assert {row[2] for row in shown(page)} == alive | {"x"}
    total = report.timeline.total[position] + MIB
    assert f"{format_bytes(total)} alive at position {position} of" in page.text("#moment-title")
    assert page.text("#scope-path") == f"everything: {format_bytes(total)}"
    page.click("#to-peak")
    assert reading(page) == report.peak.position


def test_the_keyboard_moves_the_moment(page: Browser, report: Report) -> None:
    page.keys("#moment", "\ue014")  # arrow right
    assert reading(page) == report.peak.position + 1
    page.keys("#moment", "\ue011")  # home
    assert reading(page) == 0
    assert page.element("#moment").get_attribute("aria-valuetext").startswith("1.00 MiB at position 0 of")


def test_a_drag_zooms_and_a_double_click_shows_all(page: Browser, report: Report) -> None:
    ticks = "return [...document.querySelectorAll('#chart canvas')].map(c => c.toDataURL())[0]"
    whole = page.run(ticks)
    page.mouse(OVER, 0.5, to=0.75)
    page.mouse(OVER, 0.5)
    assert abs(reading(page) - position_at(report, 0.625)) <= 1
    assert page.text("#tensor-sum") == "14 tensors, 14.0 MiB."
    assert page.run(ticks) != whole
    page.run("document.querySelector('#chart .u-over').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))")
    page.mouse(OVER, 0.25)
    assert abs(reading(page) - position_at(report, 0.25)) <= 1
    page.click("#zoom-in")
    page.mouse(OVER, 0.5)
    assert abs(reading(page) - report.peak.position) <= 1


def test_filters_and_search(page: Browser, report: Report) -> None:
    from selenium.webdriver.support.ui import Select

    Select(page.element("#by-role")).select_by_visible_text("gradient")
    assert page.text("#tensor-sum") == f"1 tensor, {format_bytes(report.by_role['gradient'])}."
    page.click("#alive-only")
    assert {row[1] for row in shown(page)} == {"gradient"}
    assert len(shown(page)) == 12
    page.keys("#search", "D1")
    assert [row[2] for row in shown(page)] == ["d11:0", "d10:0", "d1:0"]
    page.click("#filters button[type=reset]")
    assert page.text("#tensor-sum") == "14 tensors, 14.0 MiB."
    Select(page.element("#by-phase")).select_by_visible_text("whole step")
    assert [row[2] for row in shown(page)] == ["x"]
    page.click("#filters button[type=reset]")
    page.keys("#by-scope", "tower/block1_5")
    assert {row[5] for row in shown(page)} == {"tower/block1_5/conv"}


def test_the_table_is_sorted_by_any_column(page: Browser) -> None:
    page.click("#tensor-table th:nth-child(3) button")
    names = [row[2] for row in shown(page)]
    assert names == sorted(names)
    assert page.element("#tensor-table th:nth-child(3)").get_attribute("aria-sort") == "ascending"
    page.click("#tensor-table th:nth-child(9) button")
    born = [int(row[8]) for row in shown(page)]
    assert born == sorted(born, reverse=True)
    assert page.element("#tensor-table th:nth-child(3)").get_attribute("aria-sort") is None


def test_scopes_are_entered_and_left(page: Browser) -> None:
    labels = page.run("return [...document.querySelectorAll('#icicle button')].map(b => b.ariaLabel)")
    assert labels[0].startswith("everything: 14.0 MiB, 100.0 % of the moment, 14 tensors")
    group = next(label for label in labels if label.startswith("tower/block1…: "))
    assert group.startswith("tower/block1…: 4.00 MiB, 28.6 % of the moment, 4 tensors, mostly activation")
    page.click("#icicle button[aria-label^='tower/block1…']")
    assert page.text("#scope-path") == "tower/block1…: 4.00 MiB"
    assert {row[2] for row in shown(page)} == {"h4:0", "h5:0", "h6:0", "h7:0"}
    page.run("document.querySelector('#icicle button').focus()")
    page.driver.switch_to.active_element.send_keys("\ue015")  # arrow down
    assert page.run("return document.activeElement.ariaLabel").startswith("tower/block1_")
    page.driver.switch_to.active_element.send_keys("\ue007")  # enter
    assert len(shown(page)) == 1
    page.driver.switch_to.active_element.send_keys("\ue00c")  # escape
    assert page.text("#scope-path") == "tower/block1…: 4.00 MiB"
    page.click("#scope-up")
    page.click("#scope-up")
    assert page.text("#tensor-sum") == "14 tensors, 14.0 MiB."


def pixel(page: Browser) -> tuple[int, ...]:
    """The colour of the chart's background, as seen."""
    picture = Image.open(io.BytesIO(page.element("#chart").screenshot_as_png)).convert("RGB")
    return picture.getpixel((picture.width - 30, 60))


def test_light_and_dark(page: Browser) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    assert page.run(paper) == "rgb(255, 255, 255)"
    light = pixel(page)
    page.click("#theme")
    assert page.run(paper) == "rgb(20, 22, 26)"
    page.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    dark = pixel(page)
    assert sum(dark) < 200 < 600 < sum(light)
    page.driver.refresh()
    assert page.run(paper) == "rgb(20, 22, 26)"
    page.click("#theme")
    page.run("localStorage.clear()")
    page.media(prefers_color_scheme="dark")
    page.driver.refresh()
    assert page.run(paper) == "rgb(20, 22, 26)"
    assert page.text("#theme") == "Light"


def test_the_frontier_is_dark_where_the_page_is(page: Browser) -> None:
    ground = "return getComputedStyle(document.querySelector('#frontier svg polygon')).fill"
    assert page.run(ground) == "rgb(255, 255, 255)"
    page.click("#theme")
    assert page.run(ground) == "rgb(20, 22, 26)"
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.run(ground) == "rgb(255, 255, 255)"


def test_the_allocator_is_read_with_the_roles(browser: Browser, tmp_path: Path) -> None:
    report = report_of(tower(), allocator="bfc", limit=12 * MIB)
    path = tmp_path / "bfc.html"
    path.write_text(as_page(report), encoding="utf-8")
    browser.media()
    browser.open(path)
    assert browser.all_texts("#reading-curves th") == ["in use (BFC)", "pool"]
    assert browser.all_texts("#reading-curves td") == ["the step has failed"] * 2
    browser.keys("#moment", "\ue011")  # home
    in_use, pool = (values[0] for values in (placed(report).placement.in_use, placed(report).placement.pool))
    assert browser.all_texts("#reading-curves td") == [format_bytes(in_use), format_bytes(pool)]
    assert browser.complaints() == []


def test_everything_that_can_be_used_has_a_name(page: Browser) -> None:
    script = """
        return [...document.querySelectorAll('button, input, select, [tabindex], [role=img], table')].filter(e => {
          const label = e.labels && e.labels.length ? e.labels[0].innerText : '';
          const by = e.getAttribute('aria-labelledby');
          const named = e.ariaLabel || label || (by && document.getElementById(by)) || e.innerText;
          return !named || !String(named.innerText || named).trim();
        }).map(e => e.outerHTML.slice(0, 80))
    """
    assert page.run(script) == []
    ids = page.run("return [...document.querySelectorAll('section [id], header [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_scrolls_sideways(page: Browser, width: int) -> None:
    page.size(width, 800)
    page.driver.refresh()
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_it_prints_as_a_document(page: Browser) -> None:
    page.click("#theme")
    pdf = page.pdf()
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", pdf)) < 12
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = "return getComputedStyle(document.querySelector(arguments[0])).display"
    assert page.run(hidden, ".timeline") == "none"
    assert page.run(hidden, "#filters") == "none"
    assert page.run(hidden, ".static") == "block"


def test_without_scripts_the_report_is_readable(file: Path, report: Report) -> None:
    def no_scripts(options: object) -> None:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})

    with started(no_scripts) as browser:
        browser.open(file)
        assert browser.text("#peak-figure") == "14.0 MiB"
        assert browser.element(".static svg").is_displayed()
        assert not browser.element("#filters").is_displayed()
        assert "the largest tensors at the peak" in browser.text("noscript")


@pytest.mark.parametrize("case", ["mlp", "custom", "nothing", "with_timeline"])
def test_reports_without_their_step(browser: Browser, tmp_path: Path, case: str) -> None:
    report = getattr(example_reports, case)()
    path = tmp_path / "report.html"
    path.write_text(as_page(report), encoding="utf-8")
    browser.media()
    browser.open(path)
    assert browser.complaints() == []
    assert browser.run("return document.documentElement.dataset.ready") == "yes"
    sizes = f"{format_bytes(report.needed_bytes)}; of those alive at the peak: this report was saved without its step."
    assert browser.text("#tensor-sum").endswith(sizes)
    assert browser.text("#scope-path") == f"everything: {format_bytes(report.needed_bytes)}"


def paints(browser: Browser, times: int) -> Iterator[float]:
    """Milliseconds to the first paint, each time that the page is loaded: a busy machine delays some."""
    for _ in range(times):
        browser.driver.refresh()
        yield browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")


def test_a_step_of_100_000_ops_is_small_and_quick(browser: Browser, tmp_path: Path) -> None:
    report = report_of(decoder_graph(100_000))
    path = tmp_path / "report.html"
    path.write_text(as_page(report), encoding="utf-8")
    assert path.stat().st_size <= LIMIT_BYTES
    browser.open(path)
    assert browser.complaints() == []
    assert min(paints(browser, 4)) < LIMIT_MS
    assert browser.text("#peak-figure") == format_bytes(report.needed_bytes)
    assert browser.text("#reading-title b") == format_bytes(report.needed_bytes)
    assert "Each point is the highest of" in browser.text("#resolution")
    first = shown(browser)
    browser.click("#next-page")
    assert browser.text("#page-number").startswith("Page 2 of 1")
    assert len(shown(browser)) == len(first) == 100
    assert shown(browser)[0] not in first
    browser.keys("#search", "layer_6666/")
    names = [row[2] for row in shown(browser)]
    assert names
    assert all("layer_6666/" in name for name in names)
