// The chart's tool bar and its legend. Every choice is a synced trait: the kernel reads them, and a second view of
// the same panel follows.
const AXES = [["step", "Steps"], ["episode", "Episodes"], ["time", "Time"]];
const ICONS = {
  pan: "M8 1.5v13M1.5 8h13M6 3.5 8 1.5l2 2M6 12.5l2 2 2-2M3.5 6l-2 2 2 2M12.5 6l2 2-2 2",
  reset: "M2 6V2.5h3.5M14 6V2.5h-3.5M2 10v3.5h3.5M14 10v3.5h-3.5",
  save: "M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 13.5h11",
};

const HEADINGS = { "\ncommon": "common to all workers", "\nupstream": "upstream's own" };

// The names in two groups, each below its heading; without headings where there is only one.
function grouped(names, common) {
  const groups = [names.filter((name) => common.includes(name)), names.filter((name) => !common.includes(name))];
  if (groups.some((group) => !group.length)) return names;
  return Object.keys(HEADINGS).flatMap((heading, i) => [heading, ...groups[i]]);
}

function metricMenu(model, parent, set) {
  const menu = element("details", "mosaic-menu", parent);
  const chosenLabel = element("summary", "mosaic-button", menu);
  chosenLabel.title = "Choose what the chart shows";
  const list = element("div", "mosaic-menu-list", menu);
  const several = model.get("several");
  const choose = (name, on) => {
    const others = model.get("chosen").filter((other) => other !== name);
    if (!several) menu.open = false;
    if (on || others.length) set("chosen", on && several ? [...others, name] : on ? [name] : others);
    else draw();
  };
  const makeRow = (name) => {
    if (name in HEADINGS) return element("div", "mosaic-menu-heading", null, HEADINGS[name]);
    const row = element("label", "mosaic-menu-row");
    const box = element("input", "", row);
    box.type = several ? "checkbox" : "radio";
    box.onchange = () => choose(name, box.checked);
    row.append(name);
    return row;
  };
  const draw = () => {
    const chosen = model.get("chosen");
    const full = several && chosen.length >= model.get("most");
    chosenLabel.textContent = chosen.length > 1 ? `${chosen[0]} + ${chosen.length - 1}` : chosen[0] ?? "metric";
    for (const row of keyed(list, grouped(model.get("names"), model.get("common")), makeRow)) {
      if (row.dataset.key in HEADINGS) continue;
      const box = row.firstChild;
      box.checked = chosen.includes(row.dataset.key);
      box.disabled = full && !box.checked;
    }
  };
  for (const name of ["chosen", "names"]) model.on(`change:${name}`, draw);
  draw();
  return closesByItself(menu);
}

function legend(model, parent, set) {
  const box = element("div", "mosaic-legend", parent);
  const waiting = element("span", "mosaic-waiting", parent);
  const makeItem = (key) => {
    const item = button(null, "", "", () => {
      const hidden = model.get("hidden");
      set("hidden", hidden.includes(key) ? hidden.filter((other) => other !== key) : [...hidden, key]);
    }, "mosaic-legend-item");
    for (const [tag, name] of [["i", "swatch"], ["span", "legend-label"], ["b", "value"], ["span", "chip"]]) {
      element(tag, `mosaic-${name}`, item);
    }
    return item;
  };
  const draw = () => {
    const entries = model.get("legend");
    const items = keyed(box, entries.map((entry) => entry.key), makeItem);
    entries.forEach(({ key, label, color, value, state }, i) => {
      const shown = !model.get("hidden").includes(key);
      const [swatch, name, last, chip] = items[i].children;
      items[i].title = `${shown ? "Hide" : "Show"} ${label}`;
      items[i].setAttribute("aria-pressed", shown);
      swatch.style.setProperty("--mosaic-color", color);
      name.textContent = label;
      last.textContent = value;
      chip.hidden = !state;
      chip.textContent = state;
      chip.className = `mosaic-chip mosaic-${state}`;
    });
    waiting.textContent = model.get("waiting");
  };
  for (const name of ["legend", "hidden", "waiting"]) model.on(`change:${name}`, draw);
  draw();
}

function render({ model, el }) {
  el.classList.add("mosaic-controls");
  let asked = false;
  const set = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const ask = (name) => () => set(name, model.get(name) + 1);
  const askFile = (name) => () => {
    asked = true;
    ask(name)();
  };
  const bar = element("div", "mosaic-bar", el);
  const cleanMenu = metricMenu(model, bar, set);
  const axes = segmented(bar, AXES.map(([x, text]) => [x, text, `x axis: ${text.toLowerCase()}`, () => set("x", x)]), "x axis");
  const modes = model.get("several") ? [] : segmented(bar, [
    [false, "Runs", "One line a run", () => set("interval", false)],
    [true, "Mean", "Mean over runs, with a 95% interval of five and more", () => set("interval", true)],
  ], "lines");

  const smoothing = element("label", "mosaic-smoothing", bar, "Smooth");
  smoothing.title = "Exponential moving average: the weight of the past";
  const slider = element("input", "", smoothing);
  Object.assign(slider, { type: "range", min: 0, max: 0.99, step: 0.01 });
  keepsKeys(slider);
  const weight = element("output", "", smoothing);
  slider.oninput = () => set("smoothing", Number(slider.value));
  const log = button(bar, "log", "Logarithmic y axis", () => set("log_axis", !model.get("log_axis")), "mosaic-button mosaic-toggle");

  const right = element("span", "mosaic-tools", bar);
  const pan = button(right, "", "Pan and zoom: drag, wheel", () => set("panning", !model.get("panning")), "mosaic-button mosaic-icon mosaic-toggle");
  icon(pan, ICONS.pan);
  icon(button(right, "", "Reset the view", ask("resets"), "mosaic-button mosaic-icon"), ICONS.reset);
  icon(button(right, "PNG", "Save the chart as PNG", askFile("pngs"), "mosaic-button"), ICONS.save);
  const csv = button(right, "CSV", "Save the complete data as CSV", askFile("csvs"), "mosaic-button");
  icon(csv, ICONS.save);
  legend(model, el, set);

  const draw = () => {
    for (const [x, node] of axes) node.setAttribute("aria-pressed", x === model.get("x"));
    for (const [mode, node] of modes) node.setAttribute("aria-pressed", mode === model.get("interval"));
    slider.value = model.get("smoothing");
    weight.textContent = model.get("smoothing").toFixed(2);
    log.setAttribute("aria-pressed", model.get("log_axis"));
    pan.setAttribute("aria-pressed", model.get("panning"));
  };
  for (const name of ["x", "interval", "smoothing", "log_axis", "panning"]) model.on(`change:${name}`, draw);
  // Only the view whose button was pressed saves the file.
  model.on("change:download", () => {
    const { name, data } = model.get("download");
    if (asked && name) {
      asked = false;
      download(name, data);
    }
  });
  draw();
  return cleanMenu;
}

export default { render };
