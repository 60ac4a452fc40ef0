/** The samples' landing page: how much each collection holds, and which of them is not served here. */

import { fetchJson, siteUrl } from "../api.js";
import { el } from "../dom.js";
import { number } from "../format.js";

/** What a site's /health says of its size: `{items, label}`, or null where it does not answer well. */
export function holdings(answer, kind) {
  const items = answer.body?.collections?.[kind];
  if (!answer.ok || typeof items !== "number") {
    return null;
  }
  return { items, label: typeof answer.body.label === "string" ? answer.body.label : "" };
}

async function refresh(card) {
  const { kind } = card.dataset;
  const answer = await fetchJson(siteUrl(kind, "/health"), { cache: "no-store" });
  const line = card.querySelector(".sample-count");
  const held = holdings(answer, kind);
  if (held) {
    const count = `${number(held.items)} ${line.dataset.noun}`;
    card.append(el("p", { class: "sample-held small muted" }, held.label ? `${count} · ${held.label}` : count));
  } else {
    const said = answer.status === 404 ? "not served here" : answer.status === 503 ? "starting" : "does not answer now";
    card.append(el("p", { class: "sample-held small" }, el("span", { class: "badge badge-warning" }, said)));
  }
}

for (const card of document.querySelectorAll(".sample[data-kind]")) {
  refresh(card);
}
