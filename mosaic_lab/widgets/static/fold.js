// The head of a fold of a panel. What it holds is a widget of its own below it, which the kernel makes when it is unfolded.
function render({ model, el }) {
  el.classList.add("mosaic-fold");
  const fold = element("details", "mosaic-log", el);
  const summary = element("summary", "", fold);
  element("span", "mosaic-log-name", summary, model.get("title"));
  fold.open = model.get("opened");
  fold.addEventListener("toggle", () => {
    if (fold.open === model.get("opened")) return;
    model.set("opened", fold.open);
    model.save_changes();
  });
  model.on("change:opened", () => (fold.open = model.get("opened")));
}

export default { render };
