// How a source is asked: the operations of its access document, with what the table itself gives to them filled in.
import { copyButton, el } from "../dom.js";
import { curlOf } from "./curl.js";
import { frontMatter } from "./leaf.js";
import { clipped, record, text } from "./shape.js";
import { definitions } from "./values.js";

const BLANK = /\{([A-Za-z_]\w*)\}/g;
const LONGEST_URL = 4_000;
const MOST_OPERATIONS = 50;

/** The ways to ask a table's source; null where none is known. */
export function waysToAsk(entry) {
  const terms = frontMatter(entry);
  const access = record(terms.access);
  const operations = Object.entries(record(access.operations)).slice(0, MOST_OPERATIONS);
  const rest = Object.fromEntries(Object.entries(access).filter(([name]) => name !== "operations"));
  if (!operations.length && !Object.keys(rest).length) return null;
  return el(
    "section",
    { "aria-labelledby": "ways" },
    el("h2", { id: "ways" }, "How to ask for it"),
    Object.keys(rest).length > 0 && definitions(rest),
    operations.map(([name, operation]) => operationCard(name, record(operation), record(access.headers), terms)),
  );
}

function operationCard(name, operation, headers, terms) {
  const method = text(operation.method) || "GET";
  const parts = filled(clipped(text(operation.url), LONGEST_URL), terms);
  const whole = parts.map(([words]) => words).join("");
  const curl = curlOf({
    method,
    url: whole,
    headers: { ...headers, ...record(operation.headers) },
    body: operation.body,
  });
  const rest = Object.entries(operation).filter(([key, value]) => !["method", "url"].includes(key) && value !== null);
  const about = (verb) => ({ "aria-label": `${verb} of ${clipped(name, 60)}` });
  return el(
    "div",
    { class: "card operation" },
    el(
      "div",
      { class: "operation-head" },
      el("span", { class: "badge foreign" }, clipped(method, 20)),
      el("h3", { class: "foreign" }, clipped(name, 100) || "(no name)"),
      el("span", { class: "spacer" }),
      whole && copyButton("Copy address", () => whole, about("Copy address")),
      curl && copyButton("Copy as curl", () => curl, about("Copy as curl")),
    ),
    whole &&
      el(
        "pre",
        { tabindex: "0" },
        el(
          "code",
          {},
          parts.map(([words, blank]) => (blank ? el("span", { class: "blank" }, words) : words)),
        ),
      ),
    rest.length > 0 &&
      el(
        "details",
        {},
        el("summary", { class: "small" }, "What it takes and gives"),
        definitions(Object.fromEntries(rest)),
      ),
  );
}

/** A template in parts `[words, isBlank]`; a blank that the table has a value for is filled, any other stays. */
export function filled(template, terms) {
  const parts = [];
  let at = 0;
  for (const blank of template.matchAll(BLANK)) {
    const value = Object.hasOwn(terms, blank[1]) ? text(terms[blank[1]]) : "";
    const known = value !== "" && !value.startsWith("env:") && value.length <= 500;
    parts.push([template.slice(at, blank.index), false], [known ? readable(value) : blank[0], !known]);
    at = blank.index + blank[0].length;
  }
  parts.push([template.slice(at), false]);
  return parts.filter(([words]) => words);
}

/** Encoded for an address, but for what is as well read plain. A lone half of a surrogate pair is no text. */
function readable(value) {
  return encodeURIComponent(value.toWellFormed()).replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":");
}
