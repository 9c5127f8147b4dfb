/** Decodes a packet's bytes to pixels on a canvas. Bitmaps are closed at once; nothing outlives its frame. */

import type { FrameHeader } from '../messages.ts';

export type Packet = FrameHeader & {
  /** The message that contained it. */
  id: number;
  bytes: Uint8Array<ArrayBuffer>;
};

/** A decoded frame: drawn once, or dropped. */
export interface Picture {
  draw(context: CanvasRenderingContext2D): void;
  drop(): void;
}

/** Pixels reused for each frame of the same size. */
export interface Scratch {
  image?: ImageData;
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
  const bytes = packet.encoding === 'deflate' ? await inflate(packet.bytes) : packet.bytes;
  const { width, height, channels } = packet;
  if (bytes.length !== width * height * channels) {
    throw new Error(`a frame of ${width}×${height}×${channels} has ${bytes.length} bytes`);
  }
  return { draw: context => context.putImageData(expand(bytes, packet, scratch), 0, 0), drop: () => {} };
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
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
