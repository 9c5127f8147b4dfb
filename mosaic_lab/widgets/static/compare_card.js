// One lane: who acts in it, its picture, the numbers of its last step, what went wrong.
const CHIPS = { opening: "starting", failed: "failed", stopped: "", finished: "", stepping: "running", ready: "" };
const SHORT_TEXT = 90; // characters of a reasoning that are shown unfolded

function put(node, words) {
  if (node.textContent !== words) node.textContent = words;
}

// A tile whose words about the run are only said in the place of a missing picture: the card tells the rest.
class LaneTile extends Tile {
  say(notice) {
    super.say(notice);
    this.notice.hidden = true;
  }
}

function folded(parent, name, className = "") {
  const fold = element("details", `mosaic-log ${className}`, parent);
  const summary = element("summary", "", fold);
  element("span", "mosaic-log-name", summary, name);
  const first = element("code", "", summary);
  const text = element("pre", "", fold);
  return (words) => {
    fold.hidden = words === "";
    put(first, words.split("\n").at(-1));
    put(text, words);
  };
}

// Each of `shown` is a value, its name and a hint.
function drawNumbers(parent, shown) {
  const nodes = keyed(parent, shown.map(([, name]) => name), (name) => {
    const fact = element("span", "mosaic-fact");
    fact.dataset.name = name;
    element("span", "", fact, `${name} `);
    element("b", "", fact);
    return fact;
  });
  shown.forEach(([value, , hint], i) => {
    put(nodes[i].lastChild, value);
    nodes[i].title = hint;
  });
}

class Card {
  // `call(name, arguments)` asks the kernel, `ask(message)` the frames' side of it, `bind(lane, agent, keys)` changes keys.
  constructor(parent, index, settings, { call, ask, bind }) {
    this.index = index;
    this.bind = bind;
    this.call = call;
    this.pads = [];
    const card = (this.el = element("section", "mosaic-lane", parent));
    const head = element("div", "mosaic-tile-head mosaic-lane-head", card);
    this.swatch = element("i", "mosaic-swatch", head);
    this.title = element("span", "mosaic-title", head);
    this.operators = element("div", "mosaic-operators", card);
    const body = element("div", "mosaic-lane-body", card);
    this.tile = new LaneTile(body, "", settings, ask, head);
    this.stage = this.tile.stage;
    keepsKeys(this.stage);
    keysOn(this.stage, this.pads);
    this.board = new Board();
    this.facts = element("div", "mosaic-numbers mosaic-lane-facts", body);
    this.totals = element("div", "mosaic-numbers mosaic-lane-facts", body);
    this.moves = element("div", "mosaic-moves", body);
    this.people = element("div", "mosaic-people", body);
    this.reasoning = element("div", "mosaic-reasoning", body);
    this.reasons = folded(body, "Reasoning", "mosaic-reasons");
    this.exchange = new ExchangeFold(body, this.reasoning);
    this.fault = element("div", "mosaic-notice mosaic-warning", body);
    this.failed = element("div", "mosaic-notice mosaic-error", body);
    this.failed.setAttribute("role", "alert");
    this.log = folded(body, "Log");
    const foot = element("div", "mosaic-lane-foot", body);
    this.step = button(foot, "Step lane", "", () => call("step_lane", { lane: index }));
    this.restart = button(foot, "Restart", "", () => call("restart", { lane: index }));
    this.thinking = element("span", "mosaic-thinking", foot);
    this.chip = element("span", "mosaic-chip", foot);
  }

  draw(lane, closed, bindings) {
    const { label, state } = lane;
    this.lane = lane;
    this.el.dataset.state = state;
    this.el.setAttribute("aria-label", `lane ${label}`);
    this.swatch.style.setProperty("--mosaic-color", lane.color);
    put(this.title, label);
    this.title.title = label;
    const over = lane.done || (state === "stopped" && lane.flags.length > 0);
    const words = over ? `ended: ${lane.flags.join(", ") || "finished"}` : state === "ready" || state === "stepping" ? "" : state;
    put(this.chip, words);
    this.chip.hidden = words === "";
    this.chip.className = `mosaic-chip mosaic-${CHIPS[state] ?? state}`;
    this.drawOperators(lane);
    this.drawPeople(lane, closed, bindings);
    this.stage.hidden = lane.run === "" || lane.blank !== "";
    this.tile.el.hidden = this.stage.hidden;
    this.drawFacts(lane);
    put(this.thinking, lane.thinking);
    this.thinking.title = lane.thinking;
    this.drawMoves(lane);
    const told = lane.moves.filter((move) => move.fault).map((move) => `${lane.several ? `${move.agent}: ` : ""}${move.fault_text || move.fault}`);
    if (lane.blank) told.push(lane.blank);
    put(this.fault, told.join("\n"));
    this.fault.hidden = !told.length;
    const failed = state === "failed" ? lane.reason : "";
    if (failed !== this.failed.textContent) this.failed.textContent = failed;
    this.failed.hidden = failed === "";
    this.log(state === "failed" ? lane.log : "");
    this.step.title = `One step of ${label} alone`;
    this.step.setAttribute("aria-label", this.step.title);
    this.step.disabled = closed || !["ready", "stepping", "opening"].includes(state);
    this.step.hidden = state === "failed";
    this.restart.title = `Start ${label} anew; it goes to the step where the others are`;
    this.restart.setAttribute("aria-label", `Restart ${label}`);
    this.restart.hidden = state !== "failed";
    this.restart.disabled = closed;
  }

  drawOperators({ operators, several, turn, aec }) {
    const nodes = keyed(this.operators, operators.map((one) => one.key), () => {
      const node = element("span", "mosaic-operator");
      for (const name of ["chip", "operator-name", "operator-agents", "about"]) element("span", `mosaic-${name}`, node);
      return node;
    });
    operators.forEach(({ name, category, agents, about }, i) => {
      const [chip, title, whose, facts] = nodes[i].children;
      chip.className = `mosaic-chip mosaic-category mosaic-category-${category}`;
      put(chip, category);
      put(title, name === category ? "" : name);
      put(whose, several ? agents.join(", ") : "");
      keyed(facts, about.map(([text]) => text), (text) => element("span", "", null, text)).forEach((fact, at) => {
        const [, hint, warns] = about[at];
        fact.title = hint;
        fact.className = warns ? "mosaic-warning" : "";
      });
      nodes[i].title = [`${name} (${category})${several ? `: ${agents.join(", ")}` : ""}`, ...about.map(([text, hint]) => `${text}: ${hint}`)].join("\n");
      nodes[i].classList.toggle("mosaic-turn", aec && agents.some((agent) => turn.includes(agent)));
    });
  }

  drawFacts({ facts, totals, turn, aec }) {
    drawNumbers(this.facts, aec && turn.length ? [...facts, [turn.join(", "), "turn", "who acts next"]] : facts);
    drawNumbers(this.totals, totals);
    this.totals.hidden = totals.length === 0;
  }

  drawMoves({ moves, more, several, speaks }) {
    const nodes = keyed(this.moves, moves.map((move) => move.agent), () => {
      const row = element("div", "mosaic-move");
      for (const name of ["agent", "action", "reward", "tokens", "latency", "chip mosaic-warning"]) element("span", `mosaic-${name}`, row);
      row.children[2].title = "reward";
      row.children[4].title = "latency: how long the answer took";
      return row;
    });
    moves.forEach(({ agent, text, reward, tokens: [read, written], latency, fault }, i) => {
      const [who, action, gained, spent, took, chip] = nodes[i].children;
      put(who, several ? agent : "action");
      put(action, text);
      action.title = text;
      put(gained, several ? reward : "");
      put(spent, speaks && (read !== "0" || written !== "0") ? `${read} → ${written} tokens` : "");
      spent.title = `tokens: ${read} read, ${written} written`;
      put(took, latency);
      put(chip, fault);
      chip.hidden = fault === "";
    });
    this.moves.classList.toggle("mosaic-many", moves.length > 4);
    this.moves.title = more ? `and ${more} more agents` : "";
    const thoughts = moves.filter((move) => move.reasoning).map((move) => (several ? `${move.agent}: ${move.reasoning}` : move.reasoning));
    const text = thoughts.join("\n");
    const open = speaks || text.length <= SHORT_TEXT;
    put(this.reasoning, open ? text || (speaks ? "Its reasons will stand here." : "") : "");
    this.reasoning.classList.toggle("mosaic-speaks", speaks);
    this.exchange.fold.hidden = !speaks;
    this.reasons(open ? "" : text);
  }

  drawPeople({ people, label }, closed, bindings) {
    const agents = people.map((person) => person.agent);
    if (!same(agents, this.pads.map((pad) => pad.agent))) {
      this.people.replaceChildren();
      const press = (agent, action) => this.call("press", { lane: this.index, agent, action });
      const bind = (agent, keys) => this.bind(this.index, agent, keys);
      this.pads.splice(0, this.pads.length, ...agents.map((agent) => new Pad(this.people, agent, press, bind)));
    }
    const draw = (pad, person) => pad.draw(person, bindings[this.index]?.[person.agent] ?? null, people.length > 1);
    this.pads.forEach((pad, i) => {
      pad.redraw = () => draw(pad, pad.person);
      draw(pad, people[i]);
    });
    this.el.classList.toggle("mosaic-asked", this.pads.some((pad) => pad.asked));
    const mover = this.pads.find(({ person }) => person.board) ?? null;
    if (mover && !this.board.el.isConnected) this.tile.picture.append(this.board.el);
    this.board.draw(mover);
    this.board.el.inert = closed;
    this.people.inert = closed;
    this.playable(label, this.pads.length > 0 && !closed && !this.board.el.isConnected);
  }

  // Where a person's keys are.
  focus() {
    if (this.board.el.isConnected) this.board.focus();
    else this.stage.focus({ preventScroll: true });
  }

  // The picture takes the focus where somebody plays.
  playable(label, plays) {
    this.stage.classList.toggle("mosaic-playable", plays);
    if (!plays) return this.stage.removeAttribute("tabindex");
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.setAttribute("aria-label", `Play ${label} with the keys; Escape leaves`);
  }
}
