// Bytes and counts as the rest of graphmem writes them (graphmem/units.py).

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function formatBytes(count) {
  if (count === null) return "unknown";
  const sign = count < 0 ? "-" : "";
  let size = Math.abs(count);
  if (size < 1024) return `${sign}${size} B`;
  let unit = 0;
  while (size >= 999.5 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = size < 0.9995 ? 3 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return `${sign}${size.toFixed(digits)} ${UNITS[unit]}`;
}

function formatCount(count) {
  return count.toLocaleString("en-US");
}

function plural(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function element(id) {
  return document.getElementById(id);
}

// A new element with a text in it, never HTML: names are the user's.
function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function roleVariable(role, suffix) {
  const name = `--role-${role.replaceAll(" ", "-")}${suffix || ""}`;
  return `var(${name}, var(--role-other${suffix || ""}))`;
}

function swatch(role) {
  const made = make("i", "", "swatch");
  made.style.background = roleVariable(role);
  return made;
}
