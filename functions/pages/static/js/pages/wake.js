/** The wake page: asks every site for its health, and says how long each took to answer. */

import { fetchJson, siteUrl } from "../api.js";
import { announce, clear, el } from "../dom.js";
import { number } from "../format.js";
import { SITES } from "../ask/sites.js";

const WARM_S = 1.5;
const LONGEST_MS = 120_000;

/** What to say of an answer of /health that took so long: `{text, tone}`, tone being "good", "warning" or "bad". */
export function verdict(answer, seconds) {
  if (answer.ok && answer.body.status === "ok") {
    return seconds < WARM_S
      ? { text: `warm (${seconds.toFixed(1)}s)`, tone: "good" }
      : { text: `woke in ${Math.round(seconds)} s`, tone: "warning" };
  }
  const reason = answer.error || `status ${String(answer.body?.status).slice(0, 60)}`;
  return { text: `failed: ${reason}`, tone: "bad" };
}

function row(kind) {
  const status = el("td", { class: "foreign", "data-status": kind }, el("span", { class: "muted" }, "asking…"));
  const items = el("td", { class: "number" });
  const link = el("a", { href: `../${kind}/` }, SITES[kind].label);
  return { kind, status, items, element: el("tr", null, el("th", { scope: "row" }, link), status, items) };
}

async function wake({ kind, status, items }) {
  const began = performance.now();
  const options = { cache: "no-store", signal: AbortSignal.timeout(LONGEST_MS) };
  const answer = await fetchJson(siteUrl(kind, "/health"), options);
  const said = verdict(answer, (performance.now() - began) / 1000);
  clear(status).append(el("span", { class: `badge badge-${said.tone}` }, said.text));
  clear(items).append(answer.ok ? number(answer.body.collections?.[kind]) || "–" : "–");
  return said.tone !== "bad";
}

async function wakeAll() {
  const button = document.getElementById("again");
  const rows = Object.keys(SITES).map(row);
  button.disabled = true;
  document.getElementById("services").replaceChildren(...rows.map((each) => each.element));
  const awake = await Promise.all(rows.map(wake));
  button.disabled = false;
  announce(`${awake.filter(Boolean).length} of ${awake.length} services are awake`);
}

document.getElementById("again").addEventListener("click", wakeAll);
wakeAll();
