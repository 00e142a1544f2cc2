// The table of tensors: filtered, sorted, a page at a time.

const PAGE_ROWS = 100;
const COLUMNS = [
  { key: "bytes", title: "Bytes", number: true, text: (row) => formatBytes(TENSORS.bytes[row]) },
  { key: "role", title: "Role" },
  { key: "name", title: "Tensor", className: "name" },
  { key: "shape", title: "Shape" },
  { key: "dtype", title: "Dtype" },
  { key: "scope", title: "Scope", className: "clip" },
  { key: "phase", title: "Phase" },
  { key: "by", title: "Made by", className: "clip" },
  { key: "born", title: "From", number: true, text: (row) => formatCount(TENSORS.born[row]) },
  { key: "freed", title: "Until", number: true, text: (row) => formatCount(TENSORS.freed[row]) },
  { key: "reader", title: "Last read by", className: "clip" },
  { key: "source", title: "Source", className: "clip" },
];
const SEARCHED = ["name", "scope", "by", "shape", "dtype", "reader", "source", "role"];
const STARTS = "…";
let searchTexts = null;

function textOf(key, row) {
  return TEXTS[TENSORS[key][row]];
}

function searchText(row) {
  if (!searchTexts) searchTexts = new Array(ROWS);
  if (searchTexts[row] === undefined) {
    searchTexts[row] = SEARCHED.map((key) => textOf(key, row)).join("\n").toLowerCase();
  }
  return searchTexts[row];
}

// Whether a scope is another or inside of it; "a/conv2…" is all scopes that begin so.
function inScope(scope, within) {
  if (within.endsWith(STARTS)) return scope.startsWith(within.slice(0, -STARTS.length));
  return !within || scope === within || scope.startsWith(`${within}/`);
}

function passes(row) {
  if (chosen.alive && !isAlive(row, chosen.moment)) return false;
  if (chosen.role && textOf("role", row) !== chosen.role) return false;
  if (chosen.phase && textOf("phase", row) !== chosen.phase) return false;
  if (!inScope(textOf("scope", row), chosen.scope)) return false;
  return chosen.text.toLowerCase().split(/\s+/).every((word) => searchText(row).includes(word));
}

function matching() {
  const rows = [];
  for (let row = 0; row < ROWS; row++) if (passes(row)) rows.push(row);
  const column = COLUMNS.find((item) => item.key === chosen.sort);
  const values = TENSORS[column.key];
  const compare = column.number
    ? (a, b) => (values[a] ?? -1) - (values[b] ?? -1)
    : (a, b) => (TEXTS[values[a]] < TEXTS[values[b]] ? -1 : TEXTS[values[a]] > TEXTS[values[b]] ? 1 : 0);
  return rows.sort((a, b) => (chosen.descending ? compare(b, a) : compare(a, b)) || a - b);
}

function sumBytes(rows) {
  return rows.reduce((sum, row) => sum + (TENSORS.bytes[row] || 0), 0);
}

// What is alive at the moment and stands in no row.
function unlistedAt(position) {
  if (!TIMELINE && position !== DATA.peak.position) return 0;
  let listed = 0;
  for (let row = 0; row < ROWS; row++) if (isAlive(row, position)) listed += TENSORS.bytes[row] || 0;
  return Math.max(0, totalAt(position) - listed);
}

function startTensors() {
  addHeadings();
  fillSelect("by-role", ROLES.filter((role) => TENSORS.role.includes(TEXTS.indexOf(role))));
  fillSelect("by-phase", [...new Set(TENSORS.phase)].map((number) => TEXTS[number]));
  fillScopes();
  const watch = (id, event, read) => element(id).addEventListener(event, () => choose(read(element(id))));
  watch("search", "input", (input) => ({ text: input.value.trim() }));
  watch("by-role", "change", (input) => ({ role: input.value }));
  watch("by-phase", "change", (input) => ({ phase: input.value }));
  watch("by-scope", "input", (input) => ({ scope: input.value.trim().replace(/\/+$/, "") }));
  watch("alive-only", "change", (input) => ({ alive: input.checked }));
  element("filters").addEventListener("submit", (event) => event.preventDefault());
  element("filters").addEventListener("reset", () => {
    choose({ text: "", role: "", phase: "", scope: "", alive: true });
  });
  element("previous-page").addEventListener("click", () => choose({ page: chosen.page - 1 }));
  element("next-page").addEventListener("click", () => choose({ page: chosen.page + 1 }));
  onChange(showTensors);
  showTensors();
}

function addHeadings() {
  const line = element("tensor-table").tHead.rows[0];
  for (const column of COLUMNS) {
    const cell = make("th", undefined, classOf(column));
    cell.scope = "col";
    const button = make("button", column.title);
    button.type = "button";
    button.addEventListener("click", () => {
      const same = chosen.sort === column.key;
      choose({ sort: column.key, descending: same ? !chosen.descending : Boolean(column.number) });
    });
    cell.append(button);
    line.append(cell);
  }
}

function classOf(column) {
  return [`column-${column.key}`, column.number ? "number" : "", column.className || ""].join(" ").trim();
}

function fillSelect(id, values) {
  for (const value of values) {
    const option = make("option", value);
    option.value = value;
    element(id).append(option);
  }
}

// Suggestions only: any path may be typed.
function fillScopes() {
  const sizes = new Map();
  for (let row = 0; row < ROWS; row++) {
    const scope = textOf("scope", row);
    if (scope) sizes.set(scope, (sizes.get(scope) || 0) + (TENSORS.bytes[row] || 0));
  }
  const largest = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, 200);
  for (const [scope] of largest) {
    const option = make("option");
    option.value = scope;
    element("scope-names").append(option);
  }
}

function showTensors() {
  if (document.activeElement !== element("by-scope")) element("by-scope").value = chosen.scope;
  element("alive-only").checked = chosen.alive;
  showMomentTitle();
  const rows = matching();
  const filtered = chosen.text || chosen.role || chosen.phase || chosen.scope;
  const unlisted = chosen.alive && !filtered ? unlistedAt(chosen.moment) : 0;
  showSum(rows, unlisted);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const page = Math.min(chosen.page, pages - 1);
  const lines = rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS).map(tensorLine);
  if (unlisted && page === pages - 1) lines.push(othersLine(unlisted));
  element("tensor-table").tBodies[0].replaceChildren(...lines);
  COLUMNS.forEach((column, index) => {
    const cell = element("tensor-table").tHead.rows[0].cells[index];
    if (column.key === chosen.sort) cell.setAttribute("aria-sort", chosen.descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
  element("pages").hidden = pages === 1;
  element("page-number").textContent = `Page ${formatCount(page + 1)} of ${formatCount(pages)}`;
  element("previous-page").disabled = page === 0;
  element("next-page").disabled = page === pages - 1;
}

function showSum(rows, unlisted) {
  const parts = [`${plural(rows.length, "tensor")}, ${formatBytes(sumBytes(rows))}`];
  if (unlisted) parts.push(`and ${formatBytes(unlisted)} in others that are too small to be listed`);
  if (!chosen.alive && ROWS < TENSORS.all) parts.push(`the largest of ${formatCount(TENSORS.all)} in all`);
  if (!DATA.whole) parts.push("of those alive at the peak: this report was saved without its step");
  element("tensor-sum").textContent = `${parts.join("; ")}.`;
}

function tensorLine(row) {
  const line = make("tr");
  for (const column of COLUMNS) {
    const text = column.text ? column.text(row) : textOf(column.key, row);
    const cell = make("td", text, classOf(column));
    if (column.className === "clip") cell.title = text;
    if (column.key === "role") cell.prepend(swatch(text));
    line.append(cell);
  }
  return line;
}

function othersLine(bytes) {
  const line = make("tr", undefined, "others");
  const label = make("td", "others, not listed");
  label.colSpan = COLUMNS.length - 1;
  line.append(make("td", formatBytes(bytes), "number"), label);
  return line;
}
