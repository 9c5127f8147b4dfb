// The view's own connection to the kernel: one comm a view. It opens when something is first in sight, asks for a sign
// of life every few seconds while something is, and opens anew, by itself, when the kernel closed it, forgot it, was
// restarted or came back after a sleep. `tell` says why there is nothing new, and says "" when there is again.
const TARGET = "mosaic_lab.frames";
const LAB_TARGET = "mosaic_lab.status";
const TICK_MS = 1000;
const BEAT_MS = 5000;
const MOST_MISSED = 3;
const FORGOTTEN_MS = 50_000; // the kernel forgets a view after a minute of silence
const LONGEST_RETRY_MS = 30_000;
const SUBSHELL_MS = 10_000;
const ENDED = ["restarting", "autorestarting", "terminating", "dead"];
const RESTARTED = "The kernel was restarted. Frames come back when mosaic_lab.Lab() has run again.";
const SILENT = "The kernel does not answer. This is the last frame; more follow when it answers again.";
const DISCONNECTED = "The connection to the kernel is lost. This is the last frame; more follow when it is back.";
const SHUT_DOWN = "The kernel was shut down: frames come back when a kernel has run mosaic_lab.Lab().";
const NO_FRONT = "Frames are shown in JupyterLab and in Notebook 7.";

class FrameLink {
  // `hello` returns what to open with, `awake` whether anything is in sight, `receive` gets (data, buffers).
  constructor(manager, { hello, awake, receive, tell }) {
    Object.assign(this, { manager, hello, awake, receive, tell });
    this.opened = 0;
    this.kernel = null;
    this.comm = null;
    this.needsLab = false;
    this.retryMs = TICK_MS;
    this.retryAt = 0;
    this.onStatus = (_, status) => this.follow(status);
    this.onConnection = (_, status) => this.reconnect(status);
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.tick();
  }

  send(data) {
    if (!this.comm || this.kernel.connectionStatus !== "connected") return;
    quiet(this.comm.send(data));
  }

  // Look after the connection: once a second, and when something came into sight.
  tick() {
    if (this.closed) return; // the view went while something was awaited
    if (this.manager.kernel !== this.kernel) this.attach(this.manager.kernel);
    if (!this.kernel) return this.tell("kernel" in this.manager ? SHUT_DOWN : NO_FRONT);
    if (!this.awake() || this.needsLab || this.kernel.connectionStatus !== "connected") return;
    const now = Date.now();
    if (!this.comm) {
      if (now >= this.retryAt) this.open();
    } else if (now - this.beatAt > FORGOTTEN_MS) {
      this.open();
    } else if (now - this.beatAt >= BEAT_MS) {
      if (this.missed < MOST_MISSED) return this.beat();
      this.tell(SILENT);
      this.open();
    }
  }

  // What `hello` says has changed.
  renew() {
    this.drop();
    this.retryAt = 0;
    this.tick();
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
    this.attach(null);
  }

  attach(kernel) {
    this.drop();
    this.kernel?.statusChanged.disconnect(this.onStatus);
    this.kernel?.connectionStatusChanged.disconnect(this.onConnection);
    this.kernel = kernel ?? null;
    this.kernel?.statusChanged.connect(this.onStatus);
    this.kernel?.connectionStatusChanged.connect(this.onConnection);
  }

  async open() {
    this.drop();
    const kernel = this.kernel;
    this.retryAt = Date.now() + this.retryMs;
    this.retryMs = Math.min(2 * this.retryMs, LONGEST_RETRY_MS);
    try {
      const comm = kernel.createComm(TARGET);
      comm.onMsg = (message) => this.hear(comm, message);
      comm.onClose = () => this.lose(comm);
      this.comm = comm;
      this.beatAt = Date.now();
      this.missed = 0;
      this.heard = false;
      // Messages that a subshell handles are answered while a cell runs; before this they would wait for its end.
      if (kernel.supportsSubshells && comm.commsOverSubshells !== "disabled") await deadline(comm.subshellStarted, SUBSHELL_MS);
      if (this.comm !== comm) return comm.dispose();
      quiet(comm.open(this.hello()));
      this.opened += 1;
      this.beat();
    } catch (reason) {
      console.warn("MOSAIC: no connection for frames:", reason);
      this.drop();
    }
  }

  beat() {
    this.beatAt = Date.now();
    this.missed += 1;
    this.send({ type: "beat" });
  }

  hear(comm, message) {
    if (comm !== this.comm) return;
    this.heard = true;
    this.missed = 0;
    if (message.content.data.type === "pong") this.retryMs = TICK_MS; // a view that is refused gets none
    this.tell("");
    this.receive(message.content.data, message.buffers ?? []);
  }

  // The kernel closed the comm. One that never spoke is not known there: its process is another, without a Lab.
  lose(comm) {
    if (comm !== this.comm) return;
    this.needsLab = !this.heard;
    this.comm = null;
    if (this.needsLab) this.tell(RESTARTED);
  }

  drop() {
    const comm = this.comm;
    this.comm = null;
    if (!comm || comm.isDisposed) return;
    if (this.kernel.connectionStatus === "connected") quiet(comm.close());
    else comm.dispose();
  }

  follow(status) {
    if (ENDED.includes(status)) {
      this.comm?.dispose();
      this.comm = null;
      this.needsLab = true;
      this.tell(RESTARTED);
    } else if (status === "idle" && this.needsLab) {
      this.findLab();
    }
  }

  // A comm that the kernel does not know would be an error message in the user's notebook: so ask for the Lab first.
  async findLab() {
    if (this.asking) return;
    this.asking = true;
    try {
      const { content } = await this.kernel.requestCommInfo({ target_name: LAB_TARGET });
      this.needsLab = !Object.keys(content.comms ?? {}).length;
    } catch {
      // It went away meanwhile; the next "idle" asks again.
    }
    this.asking = false;
    this.retryAt = 0;
    this.tick();
  }

  reconnect(status) {
    if (status === "connected") {
      this.drop();
      this.retryAt = 0;
      this.tick();
    } else if (this.comm) {
      this.tell(DISCONNECTED);
    }
  }
}

// A future whose kernel goes away is rejected, which is not an error here.
function quiet(future) {
  future?.done?.catch(() => {});
}

function deadline(promise, ms) {
  return Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms))]);
}
