// A stretch of the timeline in as many points as a screen shows.

// Indices of the columns that stand for a stretch of positions, no more than `most`: the highest of each part, so that
// peaks stay.
function shownColumns(from, to, most) {
  const first = columnOf(from);
  const last = columnOf(to);
  const count = last - first + 1;
  const parts = Math.max(1, Math.min(most, count));
  const shown = [];
  for (let part = 0; part < parts; part++) {
    const start = first + Math.floor((count * part) / parts);
    const end = first + Math.floor((count * (part + 1)) / parts);
    let best = start;
    for (let column = start + 1; column < end; column++) {
      if (TIMELINE.total[column] > TIMELINE.total[best]) best = column;
    }
    shown.push(best);
  }
  return shown;
}

// A curve from each shown column to the next: its highest, so that no peak is lost; nothing where it has ended.
function along(values, shown) {
  return shown.map((column, index) => {
    const part = values.subarray(column, index + 1 < shown.length ? shown[index + 1] : undefined);
    return part.length ? part.reduce((most, value) => Math.max(most, value)) : null;
  });
}

// For the chart: positions, the stack from its top line to its lowest, the curves; the last point holds to its end.
function stacked(shown) {
  const across = shown.map((column) => TIMELINE.at[column]);
  const lines = [];
  let below = new Array(shown.length).fill(0);
  for (const values of TIMELINE.roles) {
    below = below.map((sum, index) => sum + values[shown[index]]);
    lines.unshift(below);
  }
  for (const { values } of TIMELINE.curves) lines.push(along(values, shown));
  if (shown.length && shown[shown.length - 1] === TIMELINE.at.length - 1) {
    across.push(DATA.positions);
    for (const line of lines) line.push(line[line.length - 1]);
  }
  return [across, ...lines];
}
