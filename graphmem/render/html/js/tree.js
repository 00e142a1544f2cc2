// The bytes alive at a moment as a tree of scopes.

const CROWD = 8; // more layers side by side are grouped by how their names begin
const MANY = 0.7; // unless there were so many groups for each layer

function scopeNode(name, path) {
  return { name, label: name, path, parent: null, bytes: 0, own: 0, tensors: 0, roles: new Map(), children: new Map() };
}

// The tree of what is alive at a position; what no row tells is in the root alone.
function scopeTree(position) {
  const root = scopeNode("all", "");
  for (let row = 0; row < ROWS; row++) {
    const bytes = TENSORS.bytes[row];
    if (!bytes || !isAlive(row, position)) continue;
    const role = textOf("role", row);
    const scope = textOf("scope", row);
    let node = root;
    count(node, bytes, role);
    for (const part of scope ? scope.split("/") : []) {
      if (!node.children.has(part)) {
        node.children.set(part, scopeNode(part, node.path ? `${node.path}/${part}` : part));
      }
      node = node.children.get(part);
      count(node, bytes, role);
    }
    node.own += bytes;
  }
  groupBelow(root);
  root.bytes += unlistedAt(position);
  return root;
}

function count(node, bytes, role) {
  node.bytes += bytes;
  node.tensors += 1;
  node.roles.set(role, (node.roles.get(role) || 0) + bytes);
}

// The tree below a node with layers side by side as a few groups.
function groupBelow(node) {
  const children = [...node.children.values()];
  children.forEach(groupBelow);
  node.children = grouped(node, children, 1);
}

// Layers by name; many of them by the words that their names begin with: conv2_block1_bn, conv2_block2_bn in "conv2…".
function grouped(parent, layers, words) {
  const found = new Map();
  const longest = Math.max(0, ...layers.map((layer) => layer.name.split("_").length));
  for (let length = words; layers.length > CROWD && length < longest; length++) {
    const starts = new Map();
    for (const layer of layers) {
      const start = layer.name.split("_").slice(0, length).join("_");
      starts.set(start, [...(starts.get(start) || []), layer]);
    }
    if (starts.size < 2 || starts.size > MANY * layers.length) continue;
    for (const [start, members] of starts) {
      const node = members.length === 1 ? members[0] : joined(start, members, length + 1);
      node.parent = parent;
      found.set(node.path, node);
    }
    return found;
  }
  for (const layer of layers) {
    layer.parent = parent;
    found.set(layer.path, layer);
  }
  return found;
}

function joined(start, layers, words) {
  const first = layers[0];
  const above = first.path.slice(0, first.path.length - first.name.length);
  const made = scopeNode(`${start}${STARTS}`, `${above}${start}${STARTS}`);
  for (const layer of layers) {
    made.bytes += layer.bytes;
    made.tensors += layer.tensors;
    // In its group a layer need not repeat the group's name.
    layer.label = layer.name.slice(start.length + 1) || layer.name;
    for (const [role, bytes] of layer.roles) made.roles.set(role, (made.roles.get(role) || 0) + bytes);
  }
  made.children = grouped(made, layers, words);
  return made;
}

function mainRole(node) {
  let best = "other";
  let most = 0;
  for (const [role, bytes] of node.roles) {
    if (bytes > most) [best, most] = [role, bytes];
  }
  return best;
}

// The node of a scope or of a group of scopes; null if nothing of it is alive.
function nodeAt(node, path) {
  if (node.path === path) return node;
  for (const child of node.children.values()) {
    const found = nodeAt(child, path);
    if (found) return found;
  }
  return null;
}

// The blocks of an icicle below a node: {node, depth, left, width} in shares of its bytes; what is too narrow is one.
function layOut(node, narrowest, deepest) {
  const blocks = [];
  const place = (item, depth, left) => {
    blocks.push({ node: item, depth, left, width: node.bytes ? item.bytes / node.bytes : 1 });
    if (depth === deepest) return;
    const children = [...item.children.values()].sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1));
    let at = left;
    let narrow = 0;
    let rest = 0;
    for (const child of children) {
      const share = child.bytes / node.bytes;
      if (share < narrowest) {
        narrow += 1;
        rest += child.bytes;
        continue;
      }
      place(child, depth + 1, at);
      at += share;
    }
    if (narrow) blocks.push({ narrow, bytes: rest, depth: depth + 1, left: at, width: rest / node.bytes });
  };
  place(node, 0, 0);
  return blocks;
}
