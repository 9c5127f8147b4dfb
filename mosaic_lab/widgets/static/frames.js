// A wall of frames: a tool bar and a tile a run.
const RATES = [1, 5, 10, 15, 30, 60];
const SCALES = [
  ["auto", "Auto", "As large as there is room; small frames by whole factors, every pixel sharp"],
  ["fit", "Fit", "As large as there is room, by any factor"],
  ["1x", "1×", "One pixel a pixel"],
  ["pixel", "Pixel", "By the largest whole factor, every pixel sharp"],
];
const VIEW_ICONS = { pause: "M5.5 3v10M10.5 3v10", play: "M4.5 3l8 5-8 5z" };
const SAID_MS = 12_000;

function toolBar(parent, title, settings, changed) {
  const bar = element("div", "mosaic-bar", parent);
  element("span", "mosaic-title", bar, title).title = title;
  const said = element("span", "mosaic-said", bar);
  said.setAttribute("role", "status");
  const pause = button(bar, "", "", () => changed("paused", !settings.paused), "mosaic-button mosaic-icon");
  const rate = element("label", "mosaic-rate", bar);
  rate.title = "Frames per second at most";
  const select = element("select", "mosaic-button", rate);
  select.setAttribute("aria-label", "Frames per second at most");
  for (const value of [...new Set([...RATES, settings.fps])].sort((a, b) => a - b)) {
    element("option", "", select, `${value} fps`).value = value;
  }
  select.value = settings.fps;
  select.onchange = () => changed("fps", Number(select.value));
  const scales = segmented(bar, SCALES.map(([value, text, hint]) => [value, text, hint, () => changed("scale", value)]), "scale");
  const drawSize = sizeButtons(bar, (name) => changed("size", name));
  const hud = button(bar, "HUD", "Numbers below the frame", () => changed("hud", !settings.hud), "mosaic-button mosaic-toggle");
  const draw = () => {
    pause.replaceChildren();
    icon(pause, settings.paused ? VIEW_ICONS.play : VIEW_ICONS.pause);
    pause.title = settings.paused ? "Play" : "Pause";
    pause.setAttribute("aria-label", pause.title);
    for (const [value, node] of scales) node.setAttribute("aria-pressed", value === settings.scale);
    drawSize(settings.size);
    hud.setAttribute("aria-pressed", settings.hud);
  };
  let timer;
  const say = (text, error = false) => {
    clearTimeout(timer);
    said.textContent = said.title = text;
    said.classList.toggle("mosaic-error", error);
    timer = setTimeout(() => (said.textContent = said.title = ""), SAID_MS);
  };
  draw();
  return { bar, draw, say };
}

class View {
  constructor(model, el) {
    this.settings = { fps: model.get("fps"), paused: false, hud: true, scale: "auto", size: "medium" };
    this.bar = toolBar(el, model.get("title"), this.settings, (name, value) => this.change(name, value));
    this.gone = element("div", "mosaic-notice mosaic-warning", el);
    this.gone.hidden = true;
    this.wall = element("div", "mosaic-wall", el);
    const columns = model.get("columns");
    if (columns) this.wall.style.setProperty("--mosaic-columns", columns);
    const runs = model.get("tiles");
    const alone = runs.length === 1;
    this.tiles = runs.map(({ label }, tile) => {
      const ask = (message) => this.frames.ask({ ...message, tile });
      return new Tile(this.wall, alone ? model.get("title") : label, this.settings, ask, alone ? this.bar.bar : null);
    });
    this.frames = new Frames(model, el, {
      tiles: this.tiles,
      settings: this.settings,
      runs: () => runs.map(({ run }) => run),
      say: this.bar.say,
      tell: (text) => this.tell(text),
    });
  }

  change(name, value) {
    this.settings[name] = value;
    this.bar.draw();
    if (name === "fps" || name === "paused") this.frames.look();
    else this.tiles.forEach((tile) => tile.fit());
    this.wall.dataset.size = this.settings.size;
  }

  tell(text) {
    if (this.gone.textContent === text) return;
    this.gone.textContent = text;
    this.gone.hidden = text === "";
    this.wall.classList.toggle("mosaic-stale", text !== "");
  }
}

async function render({ model, el }) {
  el.classList.add("mosaic-panel", "mosaic-frames");
  const view = new View(model, el);
  view.frames.start().catch((reason) => view.tell(`Frames cannot be shown here: ${reason.message}`));
  return () => view.frames.end();
}

export default { render };
