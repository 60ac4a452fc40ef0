// What the service says beside its results: notices, and failures with what can be done about them.
import { el } from "../dom.js";
import { plural } from "../format.js";
import { records, text, texts } from "./shape.js";

const LONGEST = 1_000;
const MOST_NOTICES = 20;
const MOST_NAMES = 60;
// These say how an answer came about; all others that something is missing from it.
const HOW = new Set(["embedded_models", "places_set_aside", "words_set_aside", "embedding_order", "page_size_clamped"]);

/** A list of notices; null where there are none. */
export function notices(given, ignored = []) {
  const said = records(given).slice(0, MOST_NOTICES).map(notice);
  const dropped = texts(ignored).slice(0, MOST_NAMES);
  if (dropped.length)
    said.push(el("li", { class: "notice notice-warning foreign" }, `Not a filter here: ${dropped.join(", ")}`));
  return said.length ? el("ul", { class: "plain-list stack-tight", "aria-label": "Notices" }, said) : null;
}

function notice(each) {
  const code = text(each.code);
  const kind = HOW.has(code) ? "notice-info" : "notice-warning";
  return el(
    "li",
    { class: `notice ${kind} foreign` },
    (text(each.message) || code || "Something was left out.").slice(0, LONGEST),
  );
}

/**
 * A failure: what went wrong, in the service's words, and buttons for what can be done. `actions` are
 * `{label, act, primary}`; `id` is the request's, for a report.
 */
export function failure({ heading, message, actions = [], id = "" }) {
  const button = ({ label, act, primary }) =>
    el("button", { type: "button", class: primary ? "button button-primary" : "button", onclick: act }, label);
  return el(
    "div",
    { class: "notice notice-error failure" },
    el("h2", {}, heading),
    el("p", { class: "foreign" }, message.slice(0, LONGEST)),
    el("p", { class: "wait" }),
    el("div", { class: "row" }, actions.map(button)),
    id && el("p", { class: "small muted foreign" }, "Request ", el("code", {}, id.slice(0, 100))),
  );
}

/** A wait in words: 5 → "5 s", 90 → "2 min", 58000 → "16 h 7 min". */
export function waitInWords(seconds) {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How many results there are, in words. */
export function countInWords(found) {
  return plural(found, "table");
}
