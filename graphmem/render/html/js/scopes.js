// The icicle: a block per scope, as wide as its share, its layers below it.

const BLOCK_HEIGHT = 28;
const NARROWEST = 0.004;
const NAMED = 0.025;
const DEEPEST = 7;

function startScopes() {
  const place = element("icicle");
  element("scope-up").addEventListener("click", goUp);
  place.addEventListener("keydown", (event) => {
    if (event.key === "Escape") goUp();
    else if (event.key.startsWith("Arrow") && moveFocus(place, event.key)) event.preventDefault();
  });
  onChange((changes) => {
    if ("moment" in changes || "scope" in changes) showScopes();
  });
  showScopes();
}

function goUp() {
  const node = nodeAt(scopeTree(chosen.moment), chosen.scope);
  choose({ scope: node && node.parent ? node.parent.path : "" });
  const first = element("icicle").querySelector("button");
  if (first) first.focus({ preventScroll: true });
}

function showScopes() {
  const place = element("icicle");
  const hadFocus = place.contains(document.activeElement);
  const root = scopeTree(chosen.moment);
  const node = nodeAt(root, chosen.scope) || root;
  const blocks = layOut(node, NARROWEST, DEEPEST);
  place.replaceChildren(...blocks.map((block) => (block.node ? scopeBlock(block, root) : narrowBlock(block))));
  place.style.height = `${BLOCK_HEIGHT * (1 + Math.max(...blocks.map((block) => block.depth)))}px`;
  const first = place.querySelector("button");
  first.tabIndex = 0;
  if (hadFocus) first.focus({ preventScroll: true });
  element("scope-up").disabled = !chosen.scope;
  element("scope-path").textContent =
    `${node.path || "everything"}: ${formatBytes(node.bytes)}` +
    (node === root && chosen.scope ? ` (nothing of ${chosen.scope} is alive)` : "");
}

function scopeBlock(block, root) {
  const { node } = block;
  const button = make("button", block.width > NAMED ? `${node.label} ${formatBytes(node.bytes)}` : "");
  button.type = "button";
  button.tabIndex = -1;
  setPlace(button, block);
  const role = mainRole(node);
  button.style.background = node.path ? roleVariable(role) : "var(--band)";
  button.style.color = node.path ? roleVariable(role, "-ink") : "var(--ink)";
  const share = root.bytes ? ((100 * node.bytes) / root.bytes).toFixed(1) : "0";
  const own = node.own && node.children.size ? `, ${formatBytes(node.own)} its own` : "";
  const text = `${node.path || "everything"}: ${formatBytes(node.bytes)}, ${share} % of the moment, ${plural(node.tensors, "tensor")}${own}, mostly ${role}`;
  button.title = text;
  button.setAttribute("aria-label", text);
  button.dataset.depth = block.depth;
  button.addEventListener("click", () => choose({ scope: node.path, alive: true }));
  return button;
}

function narrowBlock(block) {
  const made = make("div", "", "rest");
  setPlace(made, block);
  made.title = `${plural(block.narrow, "smaller scope")}, ${formatBytes(block.bytes)}`;
  return made;
}

function setPlace(made, block) {
  made.style.left = `${100 * block.left}%`;
  made.style.width = `${100 * block.width}%`;
  made.style.top = `${BLOCK_HEIGHT * block.depth}px`;
}

// Left and right among blocks of one depth, up and down to the nearest of another; whether there is one.
function moveFocus(place, key) {
  const from = document.activeElement;
  const all = [...place.querySelectorAll("button")];
  const depth = Number(from.dataset.depth) + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0);
  const left = (button) => parseFloat(button.style.left);
  const row = all.filter((button) => Number(button.dataset.depth) === depth).sort((a, b) => left(a) - left(b));
  const to =
    key === "ArrowLeft" || key === "ArrowRight"
      ? row[row.indexOf(from) + (key === "ArrowRight" ? 1 : -1)]
      : key === "ArrowDown"
        ? row.find((button) => left(button) >= left(from) - 1e-6)
        : row.findLast((button) => left(button) <= left(from) + 1e-6);
  if (!to) return false;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
  return true;
}
