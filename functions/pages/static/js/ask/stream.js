// Reading an event stream: blocks between blank lines, their `data:` lines joined, everything else ignored.

/** A stream that broke off before its end: the network, or the server, went away. */
export class BrokenOff extends Error {
  name = "BrokenOff";
}

/**
 * Yield each message of a reply's body as `{ type, content }`, in its order.
 *
 * A frame may have `event:`, `id:` and comment lines or none, and lines may end in any of the three ways; a frame
 * that is not a JSON object is counted in `unread.frames` and costs nothing but itself.
 */
export async function* messages(body, unread = { frames: 0 }) {
  for await (const data of frames(body)) {
    const message = parsed(data);
    if (message) {
      yield { type: message.message_type, content: message.content };
    } else {
      unread.frames += 1;
    }
  }
}

function parsed(data) {
  try {
    const message = JSON.parse(data);
    return message !== null && typeof message === "object" && typeof message.message_type === "string" ? message : null;
  } catch {
    return null;
  }
}

async function* frames(body) {
  const lines = [];
  for await (const line of linesOf(body)) {
    if (line !== "") {
      lines.push(line);
      continue;
    }
    const data = dataOf(lines.splice(0));
    if (data) {
      yield data;
    }
  }
  // A frame is over at its blank line: what follows the last one was cut off.
}

const dataOf = (lines) =>
  lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");

/** Each line without its end. The text of a line that arrives in many pieces is joined once, not at every piece. */
async function* linesOf(body) {
  const decoder = new TextDecoder();
  let pieces = [];
  let afterReturn = false;
  for await (const value of chunks(body)) {
    const decoded = decoder.decode(value, { stream: true });
    const text = afterReturn && decoded.startsWith("\n") ? decoded.slice(1) : decoded;
    if (decoded) {
      afterReturn = decoded.endsWith("\r");
    }
    const parts = text.split(/\r\n|\r|\n/);
    pieces.push(parts[0]);
    for (const next of parts.slice(1)) {
      yield pieces.join("");
      pieces = [next];
    }
  }
}

/** Not every browser can iterate over a stream itself. */
async function* chunks(body) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(brokenOff);
      if (done) {
        return;
      }
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

function brokenOff(error) {
  throw error.name === "AbortError" ? error : new BrokenOff(error.message);
}
