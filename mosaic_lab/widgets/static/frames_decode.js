// From a packet's bytes to pixels on a canvas. `decode` resolves to a picture: `draw(context)` once, or `drop()`.
// Nothing outlives its frame: image elements keep decoded frames for minutes, bitmaps are closed at once.
async function decode(packet, scratch) {
  if (packet.encoding === "jpeg") {
    const bitmap = await createImageBitmap(new Blob([packet.bytes], { type: "image/jpeg" }));
    return {
      draw: (context) => {
        context.drawImage(bitmap, 0, 0);
        bitmap.close();
      },
      drop: () => bitmap.close(),
    };
  }
  const bytes = packet.encoding === "deflate" ? await inflate(packet.bytes) : packet.bytes;
  if (bytes.length !== packet.width * packet.height * packet.channels) {
    throw new Error(`a frame of ${packet.width}×${packet.height}×${packet.channels} has ${bytes.length} bytes`);
  }
  return {
    draw: (context) => context.putImageData(expand(bytes, packet, scratch), 0, 0),
    drop: () => {},
  };
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Gray, RGB or RGBA bytes to the canvas' RGBA. `scratch.image` is used again as long as the size stays.
function expand(bytes, { width, height, channels }, scratch) {
  if (scratch.image?.width !== width || scratch.image?.height !== height) scratch.image = new ImageData(width, height);
  const image = scratch.image;
  if (channels === 4) {
    image.data.set(bytes);
    return image;
  }
  const words = new Uint32Array(image.data.buffer); // little-endian, as every browser's machine: 0xAABBGGRR
  if (channels === 1) {
    for (let i = 0; i < words.length; i++) words[i] = 0xff000000 | (bytes[i] * 0x010101);
  } else {
    for (let i = 0, j = 0; i < words.length; i++, j += 3) {
      words[i] = 0xff000000 | (bytes[j + 2] << 16) | (bytes[j + 1] << 8) | bytes[j];
    }
  }
  return image;
}
