/**
 * One tile's canvas. It receives packets, decodes the newest and draws it when the browser paints. There is
 * no queue: a superseded packet is dropped.
 */

import type { Canvas } from '../host/ipywidgets.ts';
import { decode, type Packet, type Picture, type Scratch } from './decode.ts';

export class Screen {
  private readonly canvas: Canvas;
  private readonly ready: () => void;
  private readonly failed: (text: string) => void;
  private readonly scratch: Scratch = {};
  private waiting: Packet | null = null;
  private decoding: Packet | null = null;
  private decoded: Packet | null = null;
  private picture: Picture | null = null;

  constructor(canvas: Canvas, ready: () => void, failed: (text: string) => void) {
    this.canvas = canvas;
    this.ready = ready;
    this.failed = failed;
  }

  offer(packet: Packet): void {
    this.waiting = packet;
    if (!this.decoding) this.decodeNewest();
  }

  /** The first message with frames still to draw; infinite if everything is drawn. */
  oldest(): number {
    return Math.min(
      this.waiting?.id ?? Number.POSITIVE_INFINITY,
      this.decoding?.id ?? Number.POSITIVE_INFINITY,
      this.decoded?.id ?? Number.POSITIVE_INFINITY
    );
  }

  /** Draw the decoded frame. Returns its packet, or null if there is nothing new. */
  paint(): Packet | null {
    const { decoded, picture } = this;
    if (!decoded || !picture) return null;
    this.decoded = this.picture = null;
    picture.draw(this.canvas.begin(decoded.width, decoded.height));
    this.canvas.finish();
    return decoded;
  }

  close(): void {
    this.waiting = null;
    this.picture?.drop();
    this.decoded = this.picture = null;
    this.canvas.close();
  }

  private async decodeNewest(): Promise<void> {
    while (this.waiting) {
      const packet = this.waiting;
      this.decoding = packet;
      this.waiting = null;
      try {
        const picture = await decode(packet, this.scratch);
        this.picture?.drop();
        this.picture = picture;
        this.decoded = packet;
      } catch (reason) {
        this.failed(`Frame ${packet.sequence} could not be decoded: ${(reason as Error).message}`);
      }
      this.decoding = null;
      this.ready();
    }
  }
}
