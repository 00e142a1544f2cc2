// The page's data (graphmem/render/html/payload.py), unpacked.

const DATA = JSON.parse(element("data").textContent);
const TEXTS = DATA.texts;
const ROLES = DATA.roles;
const TENSORS = DATA.tensors;
const ROWS = TENSORS.bytes.length;
const TIMELINE = unpack(DATA.timeline);

function unpack(packed) {
  if (!packed) return null;
  const at = summed(packed.at);
  const roles = ROLES.map((role) => summed(packed.roles[role]));
  const total = new Float64Array(at.length);
  for (const values of roles) {
    for (let column = 0; column < total.length; column++) total[column] += values[column];
  }
  const curves = (packed.curves || []).map(([name, steps]) => ({ name, values: summed(steps) }));
  return { at, roles, total, curves, bands: packed.bands, ops: packed.ops || null };
}

function summed(steps) {
  const values = new Float64Array(steps.length);
  let value = 0;
  steps.forEach((step, index) => {
    value += step;
    values[index] = value;
  });
  return values;
}

// The last column that begins at a position or before it: `at` is sorted.
function columnOf(position) {
  let low = 0;
  let high = TIMELINE.at.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (TIMELINE.at[middle] <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

// What runs at a position, as {type, scope, phase}; null where the report does not say.
function opAt(position) {
  if (position === DATA.peak.position) return named(DATA.peak.op);
  if (!TIMELINE || !TIMELINE.ops) return null;
  const column = columnOf(position);
  return TIMELINE.at[column] === position ? named(TIMELINE.ops.map((names) => names[column])) : null;
}

function named(numbers) {
  const [type, scope, phase] = numbers.map((number) => TEXTS[number]);
  return { type, scope, phase };
}

function isAlive(row, position) {
  return TENSORS.born[row] <= position && position < TENSORS.freed[row];
}

// All bytes at a position, listed or not.
function totalAt(position) {
  if (position === DATA.peak.position) return DATA.needed;
  return TIMELINE.total[columnOf(position)];
}
