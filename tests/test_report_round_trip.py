"""A report that was written as JSON and read again is the same report, whatever it says."""

from __future__ import annotations

import json
from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.graph.model import PHASES, ROLES
from graphmem.report.report import FrontierBuffer, PeakPoint, Report, ScopeRow, Timeline

sizes = st.integers(0, 2**50)
texts = st.text(max_size=8)
lists = {"max_size": 3}
by_text = st.dictionaries(texts, sizes, **lists)
by_role = st.dictionaries(st.sampled_from(ROLES), sizes, **lists)
by_phase = st.dictionaries(st.sampled_from(PHASES), sizes, **lists)
shapes = st.none() | st.lists(st.none() | sizes, **lists).map(tuple)

plain = {"str": texts, "int": sizes, "bool": st.booleans()}
reports = st.builds(
    Report,
    **{field.name: plain[field.type] for field in fields(Report) if field.type in plain},
    batch=st.none() | sizes,
    versions=st.dictionaries(texts, texts, **lists),
    facts=st.dictionaries(texts, texts, **lists),
    unknown_ops=by_text,
    unknown_sizes=st.lists(texts, **lists),
    step_peak_range_bytes=st.tuples(sizes, sizes),
    peak=st.builds(PeakPoint),
    by_role=by_role,
    by_phase=by_phase,
    by_role_phase=st.dictionaries(st.sampled_from(ROLES), by_phase, **lists),
    by_op_type=by_text,
    by_source=by_text,
    by_scope=st.lists(st.builds(ScopeRow), **lists),
    frontier=st.lists(st.builds(FrontierBuffer, bytes=st.none() | sizes, shape=shapes), **lists),
    not_counted=st.lists(texts, **lists),
    notes=st.lists(texts, **lists),
    allocator=st.just({"name": "exact", "peak_in_use_bytes": None}),
    timeline=st.none()
    | st.builds(
        Timeline,
        total=st.lists(sizes, **lists),
        by_role=st.dictionaries(st.sampled_from(ROLES), st.lists(sizes, **lists), **lists),
        phases=st.lists(st.tuples(st.sampled_from(PHASES), sizes, sizes), **lists),
    ),
    variables_by_scope=st.dictionaries(texts, by_role, **lists),
    simulation=st.none(),
)


@given(reports)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_json_gives_the_report_back(report):
    text = report.to_json(timeline=True)
    again = Report.from_dict(json.loads(text))
    assert again == report
    assert again.to_json(timeline=True) == text


@given(reports)
@settings(max_examples=20, derandomize=True, deadline=None)
def test_without_the_timeline_only_that_is_lost(report):
    again = Report.from_dict(json.loads(report.to_json()))
    assert again == replace(report, timeline=None)
