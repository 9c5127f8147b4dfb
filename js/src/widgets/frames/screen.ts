/**
 * One tile's canvas. It receives packets, decodes the newest and draws it when the browser paints. There is
 * no queue: a superseded packet is dropped.
 */

import type { Canvas } from '../host/ipywidgets.ts';
import type { FrameHeader } from '../messages.ts';

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
    picture.draw(this.canvas.context(decoded.width, decoded.height));
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

export type Packet = FrameHeader & {
  /** The message that contained it. */
  id: number;
  bytes: Uint8Array<ArrayBuffer>;
};

/** A decoded frame: drawn once, or dropped. */
interface Picture {
  draw(context: CanvasRenderingContext2D): void;
  drop(): void;
}

/** Memory reused for frames of the same size. */
interface Scratch {
  image?: ImageData;
  bytes?: Uint8Array | undefined;
}

export async function decode(packet: Packet, scratch: Scratch): Promise<Picture> {
  if (packet.encoding === 'jpeg') {
    const bitmap = await createImageBitmap(new Blob([packet.bytes], { type: 'image/jpeg' }));
    const draw = (context: CanvasRenderingContext2D) => {
      context.drawImage(bitmap, 0, 0);
      bitmap.close();
    };
    return { draw, drop: () => bitmap.close() };
  }
  const { width, height, channels } = packet;
  const size = width * height * channels;
  const inflates = packet.encoding === 'deflate';
  const bytes = inflates ? await inflate(packet.bytes, size, scratch) : packet.bytes;
  if (bytes.length !== size) {
    throw new Error(`a frame of ${width}×${height}×${channels} has ${bytes.length} bytes`);
  }
  const drop = () => {
    if (inflates) scratch.bytes = bytes;
  };
  const draw = (context: CanvasRenderingContext2D) => {
    context.putImageData(expand(bytes, packet, scratch), 0, 0);
    drop();
  };
  return { draw, drop };
}

/** The bytes of a stream without a Blob, whose way through the browser's process takes longer than inflating. */
async function inflate(bytes: Uint8Array<ArrayBuffer>, size: number, scratch: Scratch): Promise<Uint8Array> {
  const { readable, writable } = new DecompressionStream('deflate');
  const writer = writable.getWriter();
  Promise.all([writer.write(bytes), writer.close()]).catch(() => {}); // the reader has the same error
  const reader = readable.getReader();
  const inflated = scratch.bytes?.length === size ? scratch.bytes : new Uint8Array(size);
  scratch.bytes = undefined;
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return inflated.subarray(0, length);
    inflated.set(value, length);
    length += value.length;
  }
}

/** Convert gray, RGB or RGBA bytes to the canvas' RGBA, in `scratch`. */
export function expand(
  bytes: Uint8Array,
  { width, height, channels }: Pick<FrameHeader, 'width' | 'height' | 'channels'>,
  scratch: Scratch
): ImageData {
  if (scratch.image?.width !== width || scratch.image.height !== height) {
    scratch.image = new ImageData(width, height);
  }
  const { image } = scratch;
  if (channels === 4) {
    image.data.set(bytes);
    return image;
  }
  const words = new Uint32Array(image.data.buffer); // little-endian on all browsers: 0xAABBGGRR
  if (channels === 1) {
    for (let i = 0; i < words.length; i++) words[i] = 0xff000000 | ((bytes[i] as number) * 0x010101);
  } else {
    for (let i = 0, j = 0; i < words.length; i++, j += 3) {
      words[i] =
        0xff000000 |
        ((bytes[j + 2] as number) << 16) |
        ((bytes[j + 1] as number) << 8) |
        (bytes[j] as number);
    }
  }
  return image;
}
