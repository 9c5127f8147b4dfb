// The operators of an evaluation: how far each is, and what it has got so far.
function render({ model, el }) {
  el.classList.add("mosaic-episodes", "mosaic-scores");
  const table = element("table", "", el);
  const head = element("tr", "", element("thead", "", table));
  const body = element("tbody", "", table);
  const draw = () => {
    const { columns = [], rows = [] } = model.get("table");
    head.replaceChildren(...columns.map((title, i) => {
      const cell = element("th", i ? "mosaic-numeric" : "", null, title);
      cell.scope = "col";
      return cell;
    }));
    body.replaceChildren(...rows.map(({ label, color, cells }) => {
      const line = element("tr", "");
      const name = element("td", "", line);
      element("i", "mosaic-swatch", name).style.setProperty("--mosaic-color", color);
      name.append(label);
      for (const text of cells) element("td", "mosaic-numeric", line, text);
      return line;
    }));
    el.hidden = rows.length === 0;
  };
  model.on("change:table", draw);
  draw();
}

export default { render };
