// The finished episodes of a comparison, the newest first.
const COLUMNS = [
  ["lane", "Lane"], ["operator", "Operator"], ["seed", "Seed"], ["return", "Return"], ["length", "Steps"],
  ["end", "End"], ["faults", "Faults"], ["seconds", "Time"],
];
const NUMBERS = ["seed", "return", "length", "faults", "seconds"];

function render({ model, el }) {
  el.classList.add("mosaic-episodes");
  const table = element("table", "", el);
  const caption = element("caption", "", table);
  const head = element("tr", "", element("thead", "", table));
  for (const [name, title] of COLUMNS) {
    const cell = element("th", NUMBERS.includes(name) ? "mosaic-numeric" : "", head, title);
    cell.scope = "col";
  }
  const body = element("tbody", "", table);
  const draw = () => {
    const rows = model.get("rows");
    el.hidden = rows.length === 0;
    const total = model.get("total");
    caption.textContent = `Finished episodes: ${total}${total > rows.length ? `, the last ${rows.length} of them here` : ""}`;
    body.replaceChildren(...rows.map((row) => {
      const line = element("tr", "");
      for (const [name] of COLUMNS) {
        const cell = element("td", NUMBERS.includes(name) ? "mosaic-numeric" : "", line, name === "lane" ? "" : row[name]);
        if (name === "lane") {
          element("i", "mosaic-swatch", cell).style.setProperty("--mosaic-color", row.color);
          cell.append(row.lane);
        }
        const returns = Object.entries(row.returns);
        if (name === "return" && returns.length) cell.title = returns.map(([agent, value]) => `${agent} ${value}`).join(", ");
      }
      return line;
    }));
  };
  for (const name of ["rows", "total"]) model.on(`change:${name}`, draw);
  draw();
}

export default { render };
