/** Where the services are, and asking them for JSON. config.js, a classic script, says it before any module runs. */

/** The tables' address, without a slash at its end; "" is the page's own origin. */
export function tablesUrl(path) {
  return `${trimmed(window.ASKBUCKET_API)}${path}`;
}

/** A site's address: where config.js names none, the page's own origin at /sites/<kind>. */
export function siteUrl(kind, path) {
  const named = Object.hasOwn(window.NLWEB_API ?? {}, kind) ? trimmed(window.NLWEB_API[kind]) : "";
  return `${named || `/sites/${encodeURIComponent(kind)}`}${path}`;
}

function trimmed(address) {
  return typeof address === "string" ? address.replace(/\/+$/, "") : "";
}

/**
 * Ask for JSON. Never throws but for an abort: `{ok, status, body, retryAfter, timing, error}`, where `status` is 0 if
 * there was no answer, `body` is null if it was no JSON, `retryAfter` is in seconds or null, `timing` is the header
 * Server-Timing or null, and `error` is a sentence for people, "" if all is well.
 */
export async function fetchJson(address, options = {}) {
  let response;
  try {
    response = await fetch(address, { credentials: "omit", ...options });
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    const said = error.name === "TimeoutError" ? "The service took too long" : "The service could not be reached";
    return { ok: false, status: 0, body: null, retryAfter: null, timing: null, error: said };
  }
  const body = await jsonOf(response);
  const ok = response.ok && body !== null;
  const said = { status: response.status, body, retryAfter: retryAfterOf(response, body), timing: response.headers.get("Server-Timing") };
  return { ok, ...said, error: ok ? "" : saidOf(response, body) };
}

/** POST a JSON body; the rest as fetchJson. */
export function postJson(address, body, options = {}) {
  const headers = { "Content-Type": "application/json", ...options.headers };
  return fetchJson(address, { ...options, method: "POST", headers, body: JSON.stringify(body) });
}

async function jsonOf(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    return null;
  }
}

/** The sentence an error body holds: `error`, else `message`, else the status. */
function saidOf(response, body) {
  const said = [body?.error, body?.message].find((text) => typeof text === "string" && text);
  return said ?? (response.ok ? "The answer could not be read" : `HTTP ${response.status}`);
}

/** How long to wait, in seconds: the header, or what the body says of it. A date in the header is counted from now. */
export function retryAfterOf(response, body) {
  const header = response.headers.get("Retry-After");
  const until = header ? (Date.parse(header) - Date.now()) / 1000 : NaN;
  const given = [header === null ? NaN : Number(header), until, body?.retry_after, body?.retryAfterSeconds];
  const seconds = given.find((value) => typeof value === "number" && Number.isFinite(value) && value >= 0);
  return seconds === undefined ? null : Math.ceil(seconds);
}
