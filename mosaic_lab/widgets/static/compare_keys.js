// How people play a lane: keys while its picture has the focus, and buttons for each action. By default a lane waits for its
// people; in real time a key counts for as long as it is held. Where two act in one lane, each key is one person's; a key
// that several have goes to the one who is asked, or whose turn it is.
const KEY_NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space", Enter: "⏎" };
const LEFT_ALONE = ["Tab", "Escape", "Shift", "Control", "Alt", "Meta", "CapsLock"];

function keyName(key) {
  return KEY_NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

// The same action: actions may be lists.
function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

// The buttons of one person. `press(agent, action)` plays, null lets go; `bind(agent, keys)` changes the keys.
class Pad {
  constructor(parent, agent, press, bind) {
    Object.assign(this, { agent, press, bind });
    this.keys = [];
    this.answered = null; // the ask that was answered last
    this.choosing = null; // the action that gets a new key
    this.el = element("div", "mosaic-pad", parent);
    this.el.setAttribute("role", "group");
    const head = element("div", "mosaic-pad-head", this.el);
    this.name = element("b", "", head);
    this.said = element("span", "mosaic-pad-said", head);
    this.change = button(head, "Keys", "Choose other keys", () => this.choose(), "mosaic-button mosaic-toggle mosaic-small");
    this.restore = button(head, "Default keys", "The keys that the environment comes with", () => this.bind(agent, null), "mosaic-button mosaic-small");
    this.list = element("div", "mosaic-pad-actions", this.el);
    this.typed = element("div", "mosaic-pad-typed", this.el);
    this.number = element("input", "mosaic-number", this.typed);
    Object.assign(this.number, { required: true, step: 1 });
    keepsKeys(this.number);
    this.moves = element("datalist", "", this.typed);
    this.moves.id = `mosaic-moves-${Math.random().toString(36).slice(2)}`;
    this.number.onkeydown = (event) => event.key === "Enter" && this.submit();
    button(this.typed, "Play", "Play what is typed (Enter)", () => this.submit());
    this.rebinding = false;
  }

  draw(person, own, several) {
    this.person = person;
    this.keys = own ?? person.keys;
    const { ask, realtime, agent } = person;
    this.asked = ask !== null && ask !== this.answered;
    put(this.name, several ? agent : "You");
    this.el.setAttribute("aria-label", `actions of ${agent}`);
    this.el.classList.toggle("mosaic-asked", this.asked);
    const waits = this.choosing !== null ? "now press its key" : this.rebinding ? "choose an action" : "";
    put(this.said, waits || (realtime ? "real time: hold a key" : this.asked ? "your turn" : ""));
    this.restore.hidden = !this.rebinding || !own;
    put(this.change, this.rebinding ? "Done" : "Keys");
    this.change.setAttribute("aria-pressed", this.rebinding);
    this.change.hidden = person.typed;
    this.typed.hidden = !person.typed;
    this.type(person);
    if (person.bounds) [this.number.min, this.number.max] = person.bounds;
    const names = new Map(person.actions.map(([action, name]) => [JSON.stringify(action), { action, name }]));
    const nodes = keyed(this.list, [...names.keys()], (key) => this.action(names.get(key).action));
    for (const node of nodes) {
      const { action, name } = names.get(node.dataset.key);
      const keys = this.keys.filter(([, bound]) => same(bound, action)).map(([key]) => keyName(key));
      put(node.firstChild, keys.join(" "));
      node.firstChild.hidden = !keys.length;
      put(node.lastChild, name);
      node.title = keys.length ? `${name}: key ${keys.join(" or ")}` : name;
      node.setAttribute("aria-label", node.title);
      node.disabled = !this.rebinding && person.legal !== null && !person.legal.includes(action);
      node.setAttribute("aria-pressed", this.rebinding && same(this.choosing, action));
    }
  }

  submit() {
    if (!this.number.reportValidity()) return;
    this.play(this.person.moves ? this.number.value.trim() : Number(this.number.value));
    this.number.value = "";
  }

  // What is typed: one of the moves that have names, or the number of an action.
  type({ agent, moves }) {
    const kind = moves ? "text" : "number";
    if (this.number.type !== kind) this.number.type = kind;
    this.number.setAttribute("aria-label", `${moves ? "move" : "action"} of ${agent}`);
    if (!moves) return this.number.removeAttribute("list");
    this.number.setAttribute("list", this.moves.id);
    keyed(this.moves, moves, (move) => Object.assign(element("option", ""), { value: move }));
  }

  action(action) {
    const node = element("button", "mosaic-button mosaic-play");
    node.type = "button";
    element("kbd", "", node);
    element("span", "", node);
    // Held down in real time; a click that no pointer made (a key on the button, a screen reader) is a short one.
    node.onpointerdown = (event) => {
      if (this.rebinding || !this.person.realtime || event.button) return;
      node.setPointerCapture(event.pointerId);
      this.press(this.agent, action);
    };
    for (const name of ["onpointerup", "onpointercancel"]) {
      node[name] = () => !this.rebinding && this.person.realtime && this.press(this.agent, null);
    }
    node.onclick = (event) => {
      if (this.rebinding) this.choose(action);
      else if (!this.person.realtime) this.play(action);
      else if (event.detail === 0) this.tap(action);
    };
    return node;
  }

  // The answer to what is asked, once.
  play(action) {
    if (this.person.ask !== null && this.person.ask === this.answered) return;
    this.answered = this.person.ask;
    this.press(this.agent, action);
  }

  tap(action) {
    this.press(this.agent, action);
    this.press(this.agent, null);
  }

  // Without an action: begin or end choosing keys.
  choose(action = null) {
    if (action === null) this.rebinding = !this.rebinding;
    this.choosing = action;
    this.redraw?.();
    if (action !== null) this.list.closest("section")?.querySelector(".mosaic-stage")?.focus();
  }

  // A key for the chosen action, taken from whatever had it.
  take(key) {
    const others = this.keys.filter(([bound, action]) => bound !== key && !same(action, this.choosing));
    const keys = [...others, [key, this.choosing]];
    this.choosing = null;
    this.bind(this.agent, keys);
  }

  bound(key) {
    return this.keys.find(([bound]) => bound === key) ?? this.keys.find(([bound]) => bound.toLowerCase() === key.toLowerCase());
  }
}

// The keys of a lane, while `stage` has the focus; `pads` are its people's. Returns what draws whether they are on.
function keysOn(stage, pads) {
  const held = new Map(); // in real time: key → [pad, action], in order
  const release = () => {
    for (const pad of new Set([...held.values()].map(([pad]) => pad))) pad.press(pad.agent, null);
    held.clear();
  };
  stage.addEventListener("keydown", (event) => {
    if (!pads.length || event.ctrlKey || event.altKey || event.metaKey) return;
    const chooser = pads.find((pad) => pad.choosing !== null);
    if (event.key === "Escape") {
      event.stopPropagation();
      if (chooser) chooser.choose();
      else stage.blur();
      return;
    }
    if (LEFT_ALONE.includes(event.key)) return;
    const able = pads.filter((pad) => pad.bound(event.key));
    // JupyterLab's own keys (a, b, x, arrows …) are not meant while somebody plays.
    event.preventDefault();
    event.stopPropagation();
    if (chooser) return chooser.take(event.key);
    const pad = able.find((one) => one.asked) ?? able.find((one) => one.person.turn) ?? able[0];
    if (!pad) return;
    const [, action] = pad.bound(event.key);
    if (!pad.person.realtime) {
      if (!event.repeat || pad.asked) pad.play(action);
    } else if (!event.repeat) {
      held.set(event.key, [pad, action]);
      pad.press(pad.agent, action);
    }
  });
  stage.addEventListener("keyup", (event) => {
    if (!pads.length) return;
    event.stopPropagation();
    const [pad] = held.get(event.key) ?? [];
    if (!pad) return;
    held.delete(event.key);
    const before = [...held.values()].filter(([other]) => other === pad).at(-1);
    pad.press(pad.agent, before ? before[1] : null);
  });
  stage.addEventListener("blur", release);
  // JupyterLab takes the focus for the cell when its output is clicked.
  stage.addEventListener("mousedown", (event) => pads.length && event.stopPropagation());
  stage.addEventListener("click", () => pads.length && stage.focus({ preventScroll: true }));
}
