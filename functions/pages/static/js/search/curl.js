// Requests as command lines.
import { text } from "./shape.js";

const HTTP = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]);

/**
 * A command line for an operation, or "" where it is none of HTTP. Documents are written by others and the line goes
 * into a shell: every part is quoted whole, and what has no right form is left out.
 */
export function curlOf({ method, url, headers = {}, body = null }) {
  if (!HTTP.has(method) || !/^https?:\/\/[^\s]+$/.test(url)) return "";
  const parts = ["curl", ...(method === "GET" ? [] : ["-X", method])];
  for (const [name, value] of Object.entries(headers)) {
    if (/^[\w-]+$/.test(name) && text(value)) parts.push("-H", quotedHeader(name, text(value)));
  }
  if (body !== null && body !== undefined)
    parts.push("--json", quoted(typeof body === "string" ? body : JSON.stringify(body)));
  return [...parts, quoted(url)].join(" ");
}

function quotedHeader(name, value) {
  const fromEnvironment = /^env:([A-Z_][A-Z0-9_]*)$/.exec(value);
  return fromEnvironment ? `${quoted(`${name}: `)}"$${fromEnvironment[1]}"` : quoted(`${name}: ${value}`);
}

function quoted(words) {
  const safe = words.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, " ").replaceAll("'", "'\\''");
  return `'${safe}'`;
}
