// One tile's canvas. Takes packets, decodes the newest, draws it when the browser paints: never a queue.
// A packet that a newer one overtakes is forgotten; `oldest` is the first message of which something is still to draw.
class Screen {
  constructor(canvas, view, ready, failed) {
    Object.assign(this, { canvas, view, ready, failed });
    this.scratch = {};
    this.waiting = this.decoding = this.decoded = null; // a packet each; the last with its picture
  }

  offer(packet) {
    this.waiting = packet;
    if (!this.decoding) this.next();
  }

  async next() {
    while (this.waiting) {
      const packet = (this.decoding = this.waiting);
      this.waiting = null;
      try {
        const picture = await decode(packet, this.scratch);
        this.decoded?.picture.drop();
        this.decoded = { packet, picture };
      } catch (reason) {
        this.failed(`Frame ${packet.sequence} could not be decoded: ${reason.message}`);
      }
      this.decoding = null;
      this.ready();
    }
  }

  oldest() {
    const ids = [this.waiting, this.decoding, this.decoded?.packet].filter(Boolean).map((packet) => packet.id);
    return Math.min(...ids);
  }

  // Draw what is decoded. Returns its packet, or null when there is nothing new.
  paint() {
    if (!this.decoded) return null;
    const { packet, picture } = this.decoded;
    this.decoded = null;
    const { width, height } = packet;
    if (this.canvas.get("width") !== width || this.canvas.get("height") !== height) {
      this.canvas.set({ width, height }); // in the page only: the kernel never asks
    }
    picture.draw(this.canvas.ctx);
    this.view.updateCanvas();
    return packet;
  }

  close() {
    this.waiting = null;
    this.decoded?.picture.drop();
    this.decoded = null;
    this.view.remove();
  }
}
