// A comparison: a tool bar, and a card a lane. What to show comes in one trait, `state`; what the user wants goes out in
// `calls`, the last few of all views, so that none gets lost of several in a moment.
const MOST_CALLS = 24;
const GONE = {
  silent: "The kernel does not answer. What is shown may be old; it goes on when the kernel answers again.",
  ended: "The kernel was restarted or shut down, and its comparisons ended with it. Running this cell again compares again.",
};
const NOT_PLAYING = ".mosaic-stop, .mosaic-tile-tools, .mosaic-pad-typed"; // whoever clicks there does not go on with the keys

class Lanes {
  constructor(model, el) {
    this.model = model;
    this.view = Math.random().toString(36).slice(2);
    this.number = 0;
    this.lost = this.trouble = "";
    const call = (name, args = {}) => this.call(name, args);
    this.bar = compareBar(el, model, call, (size) => this.resize(size));
    this.gone = element("div", "mosaic-notice mosaic-warning", el);
    this.gone.hidden = true;
    this.grid = element("div", "mosaic-lane-grid", el);
    this.settings = { fps: 30, paused: false, hud: false, scale: "auto", size: "medium" };
    this.cards = model.get("state").lanes.map(({ index }) => new Card(this.grid, index, this.settings, {
      call,
      ask: (message) => this.frames.ask({ ...message, tile: index }),
      bind: (lane, agent, keys) => this.bind(lane, agent, keys),
    }));
    this.frames = new Frames(model, el, {
      tiles: this.cards.map((card) => card.tile),
      settings: this.settings,
      runs: () => this.runs(),
      say: this.bar.say,
      tell: (text) => this.tell(text),
    });
    this.cards.forEach(({ exchange }, i) => exchange.connect(model.widget_manager, model.get("language")[i]));
    this.shown = this.runs().join("\n");
    this.grid.addEventListener("focusin", ({ target }) => (this.played = this.cards.find(({ stage }) => stage === target) ?? this.played));
    el.addEventListener("click", (event) => this.playOn(event));
  }

  // After a click on Run, say, a person's keys are on, without another click on the picture. A button that was pressed with a
  // key keeps the focus.
  playOn({ target, detail }) {
    if (detail === 0 || !target.closest("button") || target.closest(NOT_PLAYING)) return;
    const own = this.cards.filter(({ pads }) => pads.length);
    const card = own.find(({ el }) => el.contains(target)) ?? this.played ?? own[0];
    card?.focus();
  }

  resize(size) {
    this.grid.dataset.size = this.settings.size = size;
    for (const { tile } of this.cards) tile.fit();
    this.bar.drawSize(size);
  }

  call(name, args) {
    this.model.set("calls", [...this.model.get("calls"), [this.view, ++this.number, name, args]].slice(-MOST_CALLS));
    this.model.save_changes();
  }

  bind(lane, agent, keys) {
    const all = this.model.get("bindings");
    this.model.set("bindings", { ...all, [lane]: { ...all[lane], [agent]: keys } });
    this.model.save_changes();
    this.draw();
  }

  // A lane that never had a folder has no picture either: any other stands in its place.
  runs() {
    const runs = this.model.get("state").lanes.map(({ run }) => run);
    return runs.map((run) => run || runs.find(Boolean) || "/");
  }

  draw() {
    const state = this.model.get("state");
    const closed = state.mode === "closed";
    this.bar.draw(state);
    this.cards.forEach((card, i) => card.draw(state.lanes[i], closed, this.model.get("bindings")));
    const runs = this.runs().join("\n");
    if (runs !== this.shown) {
      this.shown = runs;
      this.frames.reopen();
    }
  }

  // What could not be done has answered nothing.
  say({ level, text }) {
    this.bar.say(text, level === "error");
    for (const card of this.cards) {
      for (const pad of card.pads) pad.answered = null;
      card.board.refuse();
    }
    this.draw();
  }

  // What is wrong with the kernel comes before what is wrong with the frames, which follows from it.
  tell(text) {
    this.trouble = text;
    const shown = GONE[this.lost] ?? text;
    put(this.gone, shown);
    this.gone.hidden = shown === "";
    for (const node of [this.bar.bar, this.grid]) node.classList.toggle("mosaic-stale", shown !== "");
  }

  lose(why) {
    if (why === this.lost) return;
    this.lost = why;
    this.bar.bar.inert = this.grid.inert = why !== "";
    this.tell(this.trouble);
  }
}

async function render({ model, el }) {
  el.classList.add("mosaic-lanes");
  const lanes = new Lanes(model, el);
  const live = () => model.get("state").mode !== "closed";
  const draw = () => lanes.draw();
  for (const name of ["state", "bindings"]) model.on(`change:${name}`, draw);
  model.on("change:said", () => lanes.say(model.get("said")));
  draw();
  lanes.frames.start().catch((reason) => lanes.tell(`Frames cannot be shown here: ${reason.message}`));
  const presence = reportPresence(model, el);
  const unwatch = watchKernel(model, el, { seen: presence.seen, live }, (why) => lanes.lose(why));
  return () => {
    unwatch();
    presence.end();
    lanes.frames.end();
    for (const { exchange } of lanes.cards) exchange.end();
  };
}

export default { render };
