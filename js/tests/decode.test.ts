import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { decode, expand, type Packet } from '../src/widgets/frames/screen.ts';
import { provide } from './page.ts';

class FakeImageData {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.data = new Uint8ClampedArray(4 * width * height);
  }
}

const bitmap = { closed: 0, close: () => bitmap.closed++ };
let restore: () => void;
before(() => {
  restore = provide({ ImageData: FakeImageData, createImageBitmap: async () => bitmap });
});
after(() => restore());

function packet(bytes: Iterable<number>, more: Partial<Packet> = {}): Packet {
  const base = { tile: 0, sequence: 7, width: 2, height: 1, channels: 3, published: 0, hud: {}, id: 1 };
  return { ...base, encoding: 'raw', bytes: Uint8Array.from(bytes), ...more };
}

/** The data that a packet draws on a canvas. */
async function drawn(one: Packet): Promise<unknown> {
  const calls: unknown[] = [];
  const picture = await decode(one, {});
  picture.draw({
    putImageData: (image: ImageData) => calls.push([...image.data]),
    drawImage: (image: unknown) => calls.push(image)
  } as unknown as CanvasRenderingContext2D);
  return calls[0];
}

test('gray, RGB and RGBA are converted to the canvas’s RGBA', async () => {
  assert.deepEqual(await drawn(packet([9, 200], { channels: 1 })), [9, 9, 9, 255, 200, 200, 200, 255]);
  assert.deepEqual(await drawn(packet([1, 2, 3, 250, 251, 252])), [1, 2, 3, 255, 250, 251, 252, 255]);
  const rgba = [1, 2, 3, 4, 5, 6, 7, 8];
  assert.deepEqual(await drawn(packet(rgba, { channels: 4 })), rgba);
});

test('compressed bytes are inflated', async () => {
  const bytes = deflateSync(Uint8Array.from([1, 2, 3, 4, 5, 6]));
  assert.deepEqual(await drawn(packet(bytes, { encoding: 'deflate' })), [1, 2, 3, 255, 4, 5, 6, 255]);
});

test('a frame of the wrong size is reported as an error', async () => {
  await assert.rejects(decode(packet([1, 2]), {}), /a frame of 2×1×3 has 2 bytes/);
});

test('the pixel buffer is reused while the size is unchanged', () => {
  const scratch = {};
  const bytes = new Uint8Array(12);
  const first = expand(bytes, { width: 2, height: 2, channels: 3 }, scratch);
  assert.equal(expand(bytes, { width: 2, height: 2, channels: 3 }, scratch), first);
  assert.notEqual(expand(bytes, { width: 4, height: 1, channels: 3 }, scratch), first);
});

test('a bitmap is closed after it was drawn or dropped', async () => {
  assert.equal(await drawn(packet([0], { encoding: 'jpeg' })), bitmap);
  assert.equal(bitmap.closed, 1);
  (await decode(packet([0], { encoding: 'jpeg' }), {})).drop();
  assert.equal(bitmap.closed, 2);
});
