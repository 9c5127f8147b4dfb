// Frames of several runs in tiles: one connection for all of them. It tells the kernel what is in sight and wanted,
// acknowledges what was drawn, and asks for files. `el.mosaicFrames` counts, for tests and measurements: `drawn`
// (frames, a number a tile), `ages` (milliseconds from publishing to drawing, of the most recent 1,000) and `reopened`
// (connections after the first).
const MOST_AGES = 1000;

// Which tiles somebody can see: those on the screen, of a page that is not hidden.
function watchSight(tiles, changed) {
  const onScreen = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) onScreen.add(target);
      else onScreen.delete(target);
    }
    changed();
  });
  for (const tile of tiles) observer.observe(tile.el);
  document.addEventListener("visibilitychange", changed);
  return {
    visible: () => (document.hidden ? [] : [...tiles.keys()].filter((i) => onScreen.has(tiles[i].el))),
    end: () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", changed);
    },
  };
}

class Frames {
  // Each tile shows the run whose folder `runs()` has in its place, on the model's canvas of that place. `say(text, error)`
  // is told what happens, `tell(text)` why nothing new comes ("": it comes).
  constructor(model, el, { tiles, settings, runs, say, tell }) {
    Object.assign(this, { model, tiles, settings, runs, say, tell });
    this.counters = el.mosaicFrames = { drawn: tiles.map(() => 0), ages: [], reopened: 0 };
    this.received = 0; // the last message
    this.asked = []; // messages that want to be acknowledged
  }

  async start() {
    const manager = this.model.widget_manager;
    this.screens = await Promise.all(this.model.get("canvases").map(async (reference, tile) => {
      const canvas = await manager.get_model(reference.replace("IPY_MODEL_", ""));
      const view = await manager.create_view(canvas);
      this.tiles[tile].put(view);
      return new Screen(canvas, view, () => this.soon(), (text) => this.say(text, true));
    }));
    if (this.ended) return this.end();
    this.sight = watchSight(this.tiles, () => this.look());
    this.link = new FrameLink(manager, {
      hello: () => this.hello(),
      awake: () => this.sight.visible().length > 0,
      receive: (data, buffers) => this.receive(data, buffers),
      tell: (text) => this.tell(text),
    });
    this.timer = setInterval(() => this.tiles.forEach((tile) => tile.count()), 1000);
  }

  wanted() {
    return { visible: this.sight.visible(), fps: this.settings.fps, paused: this.settings.paused };
  }

  hello() {
    this.received = 0;
    this.asked = [];
    this.counters.reopened = this.link ? this.link.opened : 0;
    return { version: 1, tiles: this.runs().map((run) => ({ run })), ...this.wanted() };
  }

  // The runs are others.
  reopen() {
    this.link?.renew();
  }

  look() {
    this.link?.send({ type: "look", ...this.wanted() });
    this.link?.tick();
  }

  ask(message) {
    this.say({ snapshot: "Saving the frame…", record: "Saving the last seconds…" }[message.type] ?? "");
    this.link?.send(message);
  }

  receive(data, buffers) {
    if (data.type === "frames") this.take(data, buffers);
    else if (data.type === "ping") this.link.send({ type: "ack", id: data.id });
    else if (data.type === "notices") data.notices.forEach((notice) => this.tiles[notice.tile].say(notice));
    else if (data.type === "failed") this.say(data.text, true);
    else if (data.type === "file") {
      this.say(`Saved ${data.name}`);
      download(data.name, buffers[0], data.mime);
    }
  }

  take({ id, ack, tiles }, buffers) {
    this.received = id;
    if (ack) this.asked.push(id);
    tiles.forEach((frame, i) => {
      const { buffer, byteOffset = 0, byteLength } = ArrayBuffer.isView(buffers[i]) ? buffers[i] : { buffer: buffers[i] };
      this.screens[frame.tile].offer({ ...frame, id, bytes: new Uint8Array(buffer, byteOffset, byteLength) });
    });
    this.soon();
  }

  soon() {
    this.painting ??= requestAnimationFrame(() => this.paint());
  }

  paint() {
    this.painting = null;
    if (this.ended) return;
    this.screens.forEach((screen, i) => {
      const packet = screen.paint();
      if (!packet) return;
      this.tiles[i].show(packet);
      this.counters.drawn[i] += 1;
      this.counters.ages.push(Date.now() - 1000 * packet.published);
      if (this.counters.ages.length > MOST_AGES) this.counters.ages.shift();
    });
    this.acknowledge();
  }

  // Everything up to a message that asked was drawn, or overtaken by something newer.
  acknowledge() {
    const done = Math.min(this.received, ...this.screens.map((screen) => screen.oldest() - 1));
    if (!(this.asked[0] <= done)) return;
    this.asked = this.asked.filter((id) => id > done);
    this.link.send({ type: "ack", id: done });
  }

  end() {
    this.ended = true;
    clearInterval(this.timer);
    this.sight?.end();
    this.link?.close();
    for (const part of [...(this.screens ?? []), ...this.tiles]) part.close();
  }
}
