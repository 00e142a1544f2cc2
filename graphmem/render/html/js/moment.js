// What is read at a moment: beside the chart while pointing, and what was chosen.

function describeMoment(position) {
  const op = opAt(position);
  const where = `position ${formatCount(position)} of ${formatCount(DATA.positions)}`;
  if (!op) return where;
  return `${where}, ${op.phase}: ${op.type}${op.scope ? ` in ${op.scope}` : ""}`;
}

function startMoment() {
  const slider = element("moment");
  slider.max = TIMELINE.at.length - 1;
  slider.addEventListener("input", () => choose({ moment: TIMELINE.at[slider.valueAsNumber] }));
  element("to-peak").addEventListener("click", () => choose({ moment: DATA.peak.position }));
  const each = Math.ceil(DATA.positions / TIMELINE.at.length);
  if (each > 1) {
    element("resolution").textContent = `Each point is the highest of ${each} positions that follow each other.`;
  }
  const cells = ROLES.map(addRole).reverse();
  const curves = TIMELINE.curves.map(addCurve);
  const show = (hovered) => {
    const position = hovered === null ? chosen.moment : hovered;
    const column = columnOf(position);
    const title = element("reading-title");
    title.replaceChildren(make("b", formatBytes(totalAt(position))), describeMoment(position));
    cells.forEach(({ role, cell }) => {
      cell.textContent = formatBytes(TIMELINE.roles[role][column]);
    });
    curves.forEach(({ values, cell }) => {
      cell.textContent = column < values.length ? formatBytes(values[column]) : "the step has failed";
    });
  };
  const follow = () => {
    slider.value = columnOf(chosen.moment);
    slider.setAttribute("aria-valuetext", `${formatBytes(totalAt(chosen.moment))} at ${describeMoment(chosen.moment)}`);
    show(null);
  };
  onChange((changes) => {
    if ("moment" in changes) follow();
  });
  follow();
  return show;
}

// The rows have the order of the stack, its top first.
function addRole(role, index) {
  const row = make("tr");
  const name = make("th", role);
  name.scope = "row";
  name.prepend(swatch(role));
  const cell = make("td", "", "number");
  row.append(name, cell);
  element("reading-roles").prepend(row);
  return { role: index, cell };
}

function addCurve({ name, values }) {
  const row = make("tr");
  const title = make("th", name);
  title.scope = "row";
  title.prepend(make("i", "", isInUse(name) ? "stroke" : "stroke dashed"));
  const cell = make("td", "", "number");
  row.append(title, cell);
  element("reading-curves").append(row);
  return { values, cell };
}

function showMomentTitle() {
  const isPeak = chosen.moment === DATA.peak.position;
  const figure = DATA.timeline || isPeak ? `${formatBytes(totalAt(chosen.moment))} alive ` : "";
  element("moment-title").textContent = `${figure}at ${isPeak ? "the peak, " : ""}${describeMoment(chosen.moment)}.`;
}
