// What the reader has chosen; whoever shows it is told of changes.

const chosen = {
  moment: DATA.peak.position,
  text: "",
  role: "",
  phase: "",
  scope: "",
  alive: true,
  sort: "bytes",
  descending: true,
  page: 0,
};

const listeners = [];

function onChange(listener) {
  listeners.push(listener);
}

function choose(changes) {
  if (!("page" in changes)) changes.page = 0;
  Object.assign(chosen, changes);
  for (const listener of listeners) listener(changes);
}
