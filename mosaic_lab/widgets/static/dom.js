// Put in front of every part of a panel: what they share.
function element(tag, className, parent, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  parent?.append(node);
  return node;
}

// One child of `parent` for each key, in order. Children stay the same nodes: a click that an update falls into counts.
function keyed(parent, keys, make) {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  const nodes = keys.map((key) => {
    const node = old.get(key) ?? make(key);
    node.dataset.key = key;
    return node;
  });
  if (nodes.length !== parent.children.length || nodes.some((node, i) => node !== parent.children[i])) {
    parent.replaceChildren(...nodes);
  }
  return nodes;
}

// Keys pressed in `node` are its own. JupyterLab binds arrows and letters to whatever has the focus in a notebook, and looks for
// this mark from there upwards: only on the node itself it comes first.
function keepsKeys(node) {
  node.dataset.lmSuppressShortcuts = "true";
}
