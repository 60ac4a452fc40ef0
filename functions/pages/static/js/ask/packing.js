// Values as bytes and back: the gzip of their JSON, or the JSON itself where a browser cannot compress.

const GZIP = [0x1f, 0x8b];
// What broken bytes throw: gzip a TypeError in most browsers and a DataError in others, JSON a SyntaxError. Bytes that
// lie in a file of their own, as a Blob, may be gone.
const DAMAGE = new Set(["TypeError", "DataError", "SyntaxError", "NotFoundError", "NotReadableError"]);

export async function packed(value) {
  const plain = new TextEncoder().encode(JSON.stringify(value));
  return typeof CompressionStream === "undefined" ? plain : through(plain, new CompressionStream("gzip"));
}

/** The value, or null where the bytes are not ours. What they are is read from themselves, not from the browser. */
export async function unpacked(blob) {
  try {
    const bytes = new Uint8Array(await new Response(blob).arrayBuffer());
    const isGzip = GZIP.every((byte, place) => bytes[place] === byte);
    const plain = isGzip ? await through(bytes, new DecompressionStream("gzip")) : bytes;
    return JSON.parse(new TextDecoder().decode(plain));
  } catch (error) {
    if (DAMAGE.has(error.name)) {
      return null;
    }
    throw error;
  }
}

async function through(bytes, stream) {
  const out = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await out.arrayBuffer());
}
