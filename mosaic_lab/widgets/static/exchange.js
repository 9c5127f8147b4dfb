// What a lane's card shows of its language models: what one writes at this moment, and folded below it the prompt, the answer
// and what they cost. It draws a model of its own, which the kernel fills while the fold is open, and says what was drawn.
// Texts here come from models and endpoints: they are put into the page as text, whatever they look like.
const IMAGE = /^data:image\/png;base64,[A-Za-z0-9+/=]+$/;

// A part with a scroll bar of its own that the keyboard reaches, and whose arrows do not go to the notebook.
function scrolls(node, label) {
  node.tabIndex = 0;
  node.setAttribute("role", "region");
  node.setAttribute("aria-label", label);
  keepsKeys(node);
  return node;
}

function toEnd(node, change) {
  const atEnd = node.scrollTop + node.clientHeight >= node.scrollHeight - 4;
  change();
  if (atEnd) node.scrollTop = node.scrollHeight;
}

class Call {
  constructor() {
    this.el = element("section", "mosaic-call");
    this.facts = element("div", "mosaic-call-facts", this.el);
    this.prompt = scrolls(element("div", "mosaic-prompt", this.el), "prompt");
    this.note = element("i", "", this.prompt);
    this.turns = element("div", "", this.prompt);
    this.reasoning = this.part("reasoning");
    this.answer = this.part("answer");
    for (const tag of ["span", "mark", "span"]) element(tag, "", this.answer);
    this.answer.children[1].title = "what was played";
  }

  part(name) {
    const part = element("div", `mosaic-part`, this.el);
    element("b", "", part, name);
    return scrolls(element("pre", `mosaic-${name}-text`, part), name);
  }

  draw({ note, turns, reasoning, answer, facts, faults }, name) {
    this.el.setAttribute("aria-label", name);
    const shown = [...facts.map(([text, hint]) => ["fact", text, hint]), ...faults.map(([text, hint]) => ["chip mosaic-warning", text, hint])];
    const nodes = keyed(this.facts, shown.map(([kind, text]) => `${kind} ${text}`), () => element("span", ""));
    shown.forEach(([kind, text, hint], i) => {
      nodes[i].className = `mosaic-${kind}`;
      nodes[i].title = hint;
      put(nodes[i], text);
    });
    put(this.note, note);
    const prompt = JSON.stringify(turns);
    if (prompt !== this.drawn) {
      this.drawn = prompt;
      this.drawTurns(turns);
      this.prompt.scrollTop = this.prompt.scrollHeight; // what the agent sees now comes last
    }
    put(this.reasoning, reasoning);
    this.reasoning.parentNode.hidden = reasoning === "";
    answer.forEach((part, i) => put(this.answer.children[i], part));
  }

  drawTurns(turns) {
    const rows = keyed(this.turns, turns.map((_, i) => String(i)), () => {
      const row = element("div", "mosaic-turn-of");
      for (const tag of ["b", "pre", "div"]) element(tag, "", row);
      return row;
    });
    turns.forEach(({ role, text, images }, i) => {
      const [who, words, pictures] = rows[i].children;
      put(who, role);
      put(words, text);
      keyed(pictures, images.map(({ src, text: size }) => src || size), () => element("img", "")).forEach((image, at) => {
        const { src, text: size } = images[at];
        image.alt = image.title = size;
        if (IMAGE.test(src) && image.src !== src) image.src = src;
      });
    });
  }
}

class ExchangeFold {
  // `reasoning` gives way to what is being written.
  constructor(parent, reasoning) {
    this.reasoning = reasoning;
    this.calls = new Map();
    this.writing = scrolls(element("div", "mosaic-speaks mosaic-writing"), "what the model writes");
    reasoning.after(this.writing);
    this.writing.hidden = true;
    this.fold = element("details", "mosaic-log mosaic-exchange", parent);
    const summary = element("summary", "", this.fold);
    keepsKeys(summary);
    element("span", "mosaic-log-name", summary, "Prompt and answer");
    this.head = element("div", "mosaic-exchange-head", this.fold);
    this.agent = element("select", "mosaic-button mosaic-small", this.head);
    this.agent.setAttribute("aria-label", "Agent");
    this.agent.onchange = () => this.set({ agent: this.agent.value });
    keepsKeys(this.agent);
    this.step = element("span", "", this.head);
    this.list = element("div", "", this.fold);
    this.messages = element("ul", "mosaic-messages", this.fold);
    this.messages.setAttribute("aria-label", "messages of the agents in this step");
    this.fold.addEventListener("toggle", () => this.fold.open !== this.model?.get("opened") && this.set({ opened: this.fold.open }));
    this.opened = () => (this.fold.open = this.model.get("opened"));
    this.soon = () => (this.due ??= requestAnimationFrame(() => this.draw()));
  }

  async connect(manager, reference) {
    const model = await manager.get_model(reference.replace("IPY_MODEL_", ""));
    if (this.ended) return;
    this.model = model;
    model.on("change:opened", this.opened);
    model.on("change:number", this.soon);
    this.opened();
    this.draw();
  }

  end() {
    this.ended = true;
    cancelAnimationFrame(this.due);
    this.model?.off("change:opened", this.opened);
    this.model?.off("change:number", this.soon);
  }

  set(values) {
    this.model?.set(values);
    this.model?.save_changes();
  }

  draw() {
    this.due = null;
    this.drawWriting(this.model.get("writing"));
    this.drawShown({ agents: [], agent: "", step: "", calls: [], earlier: 0, messages: [], ...this.model.get("shown") });
    this.set({ drawn: this.model.get("number") });
  }

  drawWriting(writing) {
    this.writing.hidden = writing.length === 0;
    this.reasoning.hidden = writing.length > 0;
    toEnd(this.writing, () => put(this.writing, writing.map(([agent, text]) => (writing.length > 1 ? `${agent}: ${text}` : text)).join("\n")));
  }

  drawShown({ agents, agent, step, calls, earlier, messages }) {
    keyed(this.agent, agents, (name) => Object.assign(element("option", "", null, name), { value: name }));
    this.agent.value = agent;
    this.agent.hidden = agents.length < 2;
    const count = earlier ? `, the last ${calls.length} of ${earlier + calls.length} calls` : "";
    put(this.step, calls.length ? `step ${step}${count}` : "No exchange in the last step.");
    const numbers = calls.map((_, i) => String(i));
    keyed(this.list, numbers, (key) => {
      const call = new Call();
      this.calls.set(key, call);
      return call.el;
    });
    calls.forEach((call, i) => this.calls.get(numbers[i]).draw(call, `call ${earlier + i + 1} of ${earlier + calls.length}`));
    const sent = messages.map(([from, to, text]) => `${from} → ${to}: ${text}`);
    keyed(this.messages, sent.map((_, i) => String(i)), () => element("li", "")).forEach((node, i) => put(node, sent[i]));
    this.messages.hidden = sent.length === 0;
  }
}
