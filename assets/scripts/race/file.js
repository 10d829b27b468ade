// A file that the reader opens.

// What no JSON holds as it is: a reader stops at the first of these, and each takes six times its size to send.
const NO_JSON = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

const GZIP = [0x1f, 0x8b];

// Bytes that are unpacked at once. They may become a thousand times as many, and no browser stops in between.
const SLICE = 4096;

/**
 * {text, size} as the server wants it, unpacked where it was packed; the text null where there are more than `largest`
 * bytes. Of what cannot be read, such as a folder, {unread}: the key of the sentence that says so.
 */
export async function contents(file, largest) {
  let unread = "runs_unreadable";
  try {
    const packed = file.size <= largest && (await isPacked(file));
    if (packed) unread = "runs_packed";
    const plain = packed ? await unpacked(file, largest) : file;
    if (plain.size > largest) return { text: null, size: plain.size };
    const text = await plain.text();
    const end = text.search(NO_JSON);
    return { text: end < 0 ? text : text.slice(0, end + 1), size: plain.size };
  } catch {
    return { unread };
  }
}

async function isPacked(file) {
  const start = new Uint8Array(await file.slice(0, GZIP.length).arrayBuffer());
  return GZIP.every((byte, i) => start[i] === byte);
}

/** A blob of what was packed; it ends a little beyond `largest`, since a small file may hold a mountain of zeros. */
async function unpacked(file, largest) {
  const reader = file.stream().pipeThrough(sliced()).pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  for (let size = 0; size <= largest; size += parts.at(-1).length) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
  }
  reader.cancel();
  return new Blob(parts);
}

function sliced() {
  return new TransformStream({
    transform(chunk, out) {
      for (let at = 0; at < chunk.length; at += SLICE) out.enqueue(chunk.subarray(at, at + SLICE));
    },
  });
}
