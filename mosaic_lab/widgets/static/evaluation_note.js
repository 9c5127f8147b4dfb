// Above the figures of a plot: its title, how it is to be read, and what its colours mean.
function render({ model, el }) {
  el.classList.add("mosaic-plot-note");
  const head = element("div", "", el);
  const title = element("b", "", head);
  const note = element("span", "", head);
  const legend = element("div", "mosaic-legend", el);
  const draw = () => {
    legend.replaceChildren(...model.get("legend").map(({ label, color }) => {
      const item = element("span", "mosaic-legend-item");
      element("i", "mosaic-swatch", item).style.setProperty("--mosaic-color", color);
      element("span", "mosaic-legend-label", item, label);
      return item;
    }));
    legend.hidden = model.get("legend").length === 0;
    title.textContent = model.get("title");
    note.textContent = ` · ${model.get("note")}`;
  };
  for (const name of ["legend", "title", "note"]) model.on(`change:${name}`, draw);
  draw();
}

export default { render };
