// Put in front of every part of a panel: what they share.
function element(tag, className, parent, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  parent?.append(node);
  return node;
}
