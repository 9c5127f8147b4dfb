// Put in front of parts of a panel that have buttons.
function button(parent, label, hint, onclick, className = "mosaic-button") {
  const node = element("button", className, parent, label);
  node.type = "button";
  node.title = hint;
  node.onclick = onclick;
  return node;
}

// `path` is drawn in a square of 16.
function icon(node, path) {
  node.insertAdjacentHTML("afterbegin", `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`);
}

function segmented(parent, choices, label) {
  const group = element("span", "mosaic-segments", parent);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  return choices.map(([value, text, hint, onclick]) => [value, button(group, text, hint, onclick, "")]);
}

// Close a <details> menu by a click elsewhere or by Escape. Returns what ends this.
function closesByItself(menu) {
  const close = (event) => {
    if (event.type === "keydown" ? event.key === "Escape" : !menu.contains(event.target)) menu.open = false;
  };
  for (const name of ["pointerdown", "keydown"]) document.addEventListener(name, close);
  return () => {
    for (const name of ["pointerdown", "keydown"]) document.removeEventListener(name, close);
  };
}

function download(name, data, mime = "") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type: mime }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
