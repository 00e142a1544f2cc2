// The timeline, drawn by uPlot: hover reads, a click chooses, a drag zooms.

const CHART_HEIGHT = 340;
const ROOM = 1.2; // above the highest, for its figure and the names of the phases
const FAR = 2.5; // a limit or a pool above so many times the peak would press the curve flat
const BYTE_STEPS = Array.from({ length: 61 }, (_, power) => 2 ** power);

function startChart(onHover) {
  const place = element("chart");
  let view = [0, DATA.positions];
  let shown = [];
  const most = TIMELINE.curves.map(({ values }) => values.reduce((a, b) => Math.max(a, b), 0));
  const highest = Math.max(DATA.needed, 1, ...[DATA.limit || 0, ...most].filter((size) => size <= FAR * DATA.needed));

  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: CHART_HEIGHT,
      legend: { show: false },
      scales: {
        x: { time: false, range: () => view },
        y: { range: () => [0, highest * ROOM] },
      },
      axes: [axis(plainPositions, { grid: { show: false } }), axis(byteTicks, { size: 78, incrs: BYTE_STEPS, filter: upTo(highest) })],
      series: [{}, ...[...ROLES].reverse().map(series), ...TIMELINE.curves.map(curve)],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => zoomTo(0, DATA.positions) },
      },
      hooks: {
        drawClear: [(u) => shadePhases(u)],
        draw: [(u) => drawMarks(u)],
        setCursor: [(u) => onHover(pointed(u))],
        setSelect: [(u) => zoomToSelection(u)],
      },
    },
    [[], ...ROLES.map(() => []), ...TIMELINE.curves.map(() => [])],
    place,
  );

  function pointed(u) {
    const index = u.cursor.left >= 0 ? u.cursor.idx : null;
    return index === null || index === undefined ? null : TIMELINE.at[shown[Math.min(index, shown.length - 1)]];
  }

  function zoomToSelection(u) {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    zoomTo(from, to);
  }

  function zoomTo(from, to) {
    const least = Math.min(8, DATA.positions);
    const width = Math.min(Math.max(to - from, least), DATA.positions);
    const start = Math.min(Math.max(from, 0), DATA.positions - width);
    view = [start, start + width];
    fill();
  }

  // A point for each pixel at most, so that each is seen.
  function fill() {
    shown = shownColumns(...view, plot.over.clientWidth);
    plot.setData(stacked(shown));
  }

  function zoomBy(factor) {
    const width = (view[1] - view[0]) * factor;
    zoomTo(chosen.moment - width / 2, chosen.moment + width / 2);
  }

  plot.over.addEventListener("click", () => {
    const position = pointed(plot);
    if (position !== null) choose({ moment: position, alive: true });
  });
  place.addEventListener("mouseleave", () => onHover(null));
  new ResizeObserver(() => {
    plot.setSize({ width: place.clientWidth, height: CHART_HEIGHT });
    fill();
  }).observe(place);
  element("zoom-in").addEventListener("click", () => zoomBy(0.5));
  element("zoom-out").addEventListener("click", () => zoomBy(2));
  element("zoom-all").addEventListener("click", () => zoomTo(0, DATA.positions));
  onChange((changes) => {
    if (!("moment" in changes)) return;
    const width = view[1] - view[0];
    if (chosen.moment < view[0] || chosen.moment > view[1]) zoomTo(chosen.moment - width / 2, chosen.moment + width / 2);
    else plot.redraw(false);
  });
  fill();
  return { redraw: () => plot.redraw(true) };
}

function series(role) {
  const fill = () => roleColour(role);
  return { label: role, fill, stroke: fill, width: 0, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } };
}

// What holds memory that may be free is dashed, as in every picture.
function curve({ name }) {
  const dash = isInUse(name) ? undefined : [6, 3];
  const paths = uPlot.paths.stepped({ align: 1 });
  return { label: name, stroke: () => colour("--line"), width: 1.25, dash, paths, points: { show: false } };
}

function isInUse(name) {
  return name.startsWith("in use");
}

function axis(values, more) {
  const faint = () => colour("--faint");
  const rule = { stroke: () => colour("--band"), width: 1, ...(more.filter && { filter: more.filter }) };
  return { values, stroke: faint, grid: rule, ticks: rule, ...more };
}

// Above the highest stand the names of the phases, not lines.
function upTo(highest) {
  return (u, splits) => splits.map((split) => (split > highest ? null : split));
}

function plainPositions(u, splits) {
  return splits.map((split) => (Number.isInteger(split) ? formatCount(split) : ""));
}

function byteTicks(u, splits) {
  return splits.map((split) => (split === null ? "" : formatBytes(split)));
}

function shadePhases(u) {
  const { left, top, width, height } = u.bbox;
  const context = u.ctx;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "top";
  TIMELINE.bands.forEach(([name, first, last], number) => {
    const start = Math.max(u.valToPos(first, "x", true), left);
    const end = Math.min(u.valToPos(last, "x", true), left + width);
    if (end <= start) return;
    context.fillStyle = colour(number % 2 ? "--band" : "--paper");
    context.fillRect(start, top, end - start, height);
    if (end - start < context.measureText(TEXTS[name]).width + 8) return;
    context.fillStyle = colour("--faint");
    context.fillText(TEXTS[name], (start + end) / 2, top + 3 * devicePixelRatio);
  });
  context.restore();
}

function drawMarks(u) {
  const { left, top, width, height } = u.bbox;
  const context = u.ctx;
  const ratio = devicePixelRatio;
  const inside = (x) => x >= left && x <= left + width;
  context.save();
  context.lineWidth = 1.5 * ratio;
  if (DATA.limit && DATA.limit <= FAR * DATA.needed) {
    const y = u.valToPos(DATA.limit, "y", true);
    context.strokeStyle = context.fillStyle = colour("--accent");
    line(context, [5 * ratio, 4 * ratio], left, y, left + width, y);
    write(context, `${formatBytes(DATA.limit)} allowed`, left + 4 * ratio, y - 3 * ratio, "left");
  }
  const moment = u.valToPos(chosen.moment + 0.5, "x", true);
  if (inside(moment)) {
    context.strokeStyle = colour("--accent");
    line(context, [], moment, top, moment, top + height);
  }
  const x = u.valToPos(DATA.peak.position + 0.5, "x", true);
  const y = u.valToPos(DATA.needed, "y", true);
  if (inside(x)) {
    context.fillStyle = context.strokeStyle = colour("--line");
    context.beginPath();
    context.arc(x, y, 4 * ratio, 0, 2 * Math.PI);
    context.fill();
    const toLeft = x > left + width / 2;
    write(context, `peak ${formatBytes(DATA.needed)}`, x + (toLeft ? -8 : 8) * ratio, y - 4 * ratio, toLeft ? "right" : "left");
  }
  context.restore();
}

function line(context, dashes, x0, y0, x1, y1) {
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

function write(context, text, x, y, align) {
  context.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  context.textAlign = align;
  context.textBaseline = "bottom";
  context.fillText(text, x, y);
}
