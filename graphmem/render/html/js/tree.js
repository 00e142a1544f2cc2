// The bytes alive at a moment as a tree of scopes.

function scopeNode(name, path) {
  return { name, path, bytes: 0, own: 0, tensors: 0, roles: new Map(), children: new Map() };
}

// The tree of what is alive at a position; "others" is what no row tells.
function scopeTree(position) {
  const root = scopeNode("all", "");
  for (let row = 0; row < ROWS; row++) {
    const bytes = TENSORS.bytes[row];
    if (!bytes || !isAlive(row, position)) continue;
    const role = textOf("role", row);
    const scope = textOf("scope", row);
    let node = root;
    count(node, bytes, role);
    let path = "";
    for (const part of scope ? scope.split("/") : []) {
      path = path ? `${path}/${part}` : part;
      if (!node.children.has(part)) node.children.set(part, scopeNode(part, path));
      node = node.children.get(part);
      count(node, bytes, role);
    }
    node.own += bytes;
  }
  root.bytes += unlistedAt(position);
  return root;
}

function count(node, bytes, role) {
  node.bytes += bytes;
  node.tensors += 1;
  node.roles.set(role, (node.roles.get(role) || 0) + bytes);
}

function mainRole(node) {
  let best = "other";
  let most = 0;
  for (const [role, bytes] of node.roles) {
    if (bytes > most) [best, most] = [role, bytes];
  }
  return best;
}

function nodeAt(root, path) {
  let node = root;
  for (const part of path ? path.split("/") : []) {
    if (!node.children.has(part)) return null;
    node = node.children.get(part);
  }
  return node;
}

// The blocks of an icicle below a node: {node, depth, left, width} in shares of its bytes; what is too narrow is one.
function layOut(node, narrowest, deepest) {
  const blocks = [];
  const place = (item, depth, left) => {
    const width = node.bytes ? item.bytes / node.bytes : 0;
    blocks.push({ node: item, depth, left, width });
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
