// One run's tile: its title, its canvas at the chosen scale and size, the HUD below it, its notice, and what can be saved of it.
const TILE_ICONS = {
  camera: "M2 5h2.5L6 3h4l1.5 2H14v8H2zM8 11a2.3 2.3 0 1 0 0-4.6A2.3 2.3 0 0 0 8 11",
  record: "M8 13a5 5 0 1 0 0-10 5 5 0 0 0 0 10M8 9.4a1.4 1.4 0 1 0 0-2.8 1.4 1.4 0 0 0 0 2.8",
};
const RECORD_SECONDS = [5, 10, 30, 60];
const PIXELATED_FROM = 2; // by itself: frames that fit at least this often are shown by whole factors
const SIZES = [ // and the share of the window's height that a picture has at most
  ["small", "S", 0.35],
  ["medium", "M", 0.6],
  ["large", "L", 0.85],
];
const WAITING = "Waiting for the first frame…";
const SETTLE_MS = 2000; // after the first frame: by then the kernel has taken back what was said before it
const RATE_HINT =
  "Frames a second, drawn here. A training draws at most so many that 96% of its time stays its own: that can be fewer than chosen.";
const OFF = "frames are off"; // how the kernel's notice begins while the run publishes none
const EDGE = 1; // pixels around a picture, for its border
const HUD_WIDTH = 360; // below a picture that is narrower, the HUD is wider than it

class Tile {
  // `ask(message)` sends to the kernel; `settings` are the view's. A tile alone puts its actions in `bar`.
  constructor(parent, label, settings, ask, bar = null) {
    this.settings = settings;
    this.label = label;
    this.size = null;
    this.el = element("section", "mosaic-tile", parent);
    this.el.setAttribute("aria-label", label);
    const head = bar ?? element("div", "mosaic-tile-head", this.el);
    if (!bar) element("span", "mosaic-title", head, label).title = label;
    this.rate = element("span", "mosaic-tile-rate", head);
    this.rate.title = RATE_HINT;
    this.actions = tileActions(head, ask);
    this.stage = element("div", "mosaic-stage", this.el);
    this.blank = element("div", "mosaic-blank", this.stage, WAITING);
    this.screen = element("div", "mosaic-screen", this.stage);
    this.screen.hidden = true;
    this.picture = element("div", "mosaic-picture", this.screen);
    this.hud = element("div", "mosaic-hud", this.screen);
    this.drawHud = hudOn(this.hud);
    this.notice = element("div", "mosaic-notice", this.el);
    this.notice.hidden = true;
    this.said = { text: "" };
    this.drawn = this.counted = 0;
    this.resize = new ResizeObserver(() => this.fit());
    this.resize.observe(this.stage);
    this.refit = () => this.fit();
    window.addEventListener("resize", this.refit);
  }

  // Take in the ipycanvas view. It reports every mouse move and keeps keys and the wheel: frames are to be looked at.
  put(view) {
    view.el.tabIndex = -1;
    view.el.setAttribute("role", "img");
    view.el.setAttribute("aria-label", this.label);
    this.canvas = view.el;
    this.picture.prepend(view.el);
  }

  show({ width, height, hud }) {
    if (!this.drawn++) setTimeout(() => this.say(this.said), SETTLE_MS);
    this.blank.hidden = true;
    this.screen.hidden = false;
    this.drawHud(hud);
    if (this.size?.width === width && this.size?.height === height) return;
    this.size = { width, height };
    this.fit();
  }

  // In the place of the frame while there is none, below it afterwards.
  say(notice) {
    const { level = "info", text } = (this.said = notice);
    this.actions.press(text.startsWith(OFF) ? "off" : text ? null : "on");
    this.blank.textContent = text || WAITING;
    this.notice.hidden = text === "" || !this.drawn;
    this.notice.textContent = text;
    this.notice.className = `mosaic-notice mosaic-${level}`;
  }

  count() {
    const rate = this.drawn - this.counted;
    this.counted = this.drawn;
    this.rate.textContent = this.settings.paused ? "paused" : rate ? `${rate} fps` : "";
  }

  // Whole factors are of the screen's own pixels, which may be smaller than those of the page.
  fit() {
    this.hud.hidden = !this.settings.hud;
    if (!this.size) return;
    const { width, height } = this.size;
    const density = window.devicePixelRatio || 1;
    const [, , share] = SIZES.find(([name]) => name === this.settings.size);
    const wide = Math.max(0, Math.floor(this.stage.getBoundingClientRect().width) - 2 * EDGE);
    const room = Math.min(wide / width, (share * window.innerHeight) / height);
    const whole = Math.max(1, Math.floor(room * density)) / density;
    const exact = { pixel: true, auto: room >= PIXELATED_FROM }[this.settings.scale] ?? false;
    const factor = exact ? whole : this.settings.scale === "1x" ? 1 : room;
    this.canvas.style.width = `${width * factor}px`;
    this.canvas.style.height = `${height * factor}px`;
    this.canvas.classList.toggle("mosaic-exact", exact || factor === 1);
    this.hud.style.width = `max(${width * factor}px, min(100%, ${HUD_WIDTH}px))`;
  }

  close() {
    window.removeEventListener("resize", this.refit);
    this.resize.disconnect();
    this.actions.close();
  }
}

// The buttons that choose how large pictures are; `changed` is called with the name of a size. Returns what draws the one in force.
function sizeButtons(parent, changed) {
  const buttons = segmented(parent, SIZES.map(([name, text, share]) => [
    name, text, `Pictures up to ${100 * share}% as high as the window`, () => changed(name),
  ]), "size");
  return (size) => buttons.forEach(([name, node]) => node.setAttribute("aria-pressed", name === size));
}

// Returns what ends the menu, and `press("on" | "off" | null)`: which of the run's buttons is in force, if that is known.
function tileActions(parent, ask) {
  const tools = element("span", "mosaic-tile-tools", parent);
  const snapshot = button(tools, "", "Save this frame as PNG", () => ask({ type: "snapshot" }), "mosaic-button mosaic-icon");
  icon(snapshot, TILE_ICONS.camera);
  const menu = element("details", "mosaic-menu", tools);
  const summary = element("summary", "mosaic-button mosaic-icon", menu);
  summary.title = "Save the last seconds, turn frames on and off";
  icon(summary, TILE_ICONS.record);
  const list = element("div", "mosaic-menu-list", menu);
  const row = (label) => {
    const line = element("div", "mosaic-tile-row", list);
    element("span", "", line, label);
    return line;
  };
  let seconds = RECORD_SECONDS[0];
  const lengths = segmented(row("The last"), RECORD_SECONDS.map((value) => [value, `${value} s`, `${value} seconds`, () => {
    seconds = value;
    pressLength();
  }]), "seconds to save");
  const pressLength = () => lengths.forEach(([value, node]) => node.setAttribute("aria-pressed", value === seconds));
  pressLength();
  const choose = (message) => () => {
    menu.open = false;
    ask(message());
  };
  segmented(row("Save as"), ["gif", "mp4"].map((format) => [
    format, format.toUpperCase(), `Save the last seconds as ${format.toUpperCase()}`, choose(() => ({ type: "record", seconds, format })),
  ]), "format");
  const switches = segmented(row("The run's frames"), [
    ["on", "On", "Have the run publish frames while somebody looks", choose(() => ({ type: "enable", on: true }))],
    ["off", "Off", "Have the run publish no frames, to nobody", choose(() => ({ type: "enable", on: false }))],
  ], "frames of the run");
  const press = (inForce) => switches.forEach(([value, node]) => node.setAttribute("aria-pressed", value === inForce));
  return { close: closesByItself(menu), press };
}
