/** On demand: the verdict on an item, and how it was found. */

import { el } from "../dom.js";
import { number } from "../format.js";
import { details } from "./parts.js";
import { plainNumber, text } from "./values.js";

const FOUND_BY = {
  bm25: "by its words",
  vector: "by its meaning",
  columns: "by its facts alone",
};

const CONDITIONS = new Map([
  [true, "all met"],
  [false, "all that are strict, but misses one that is preferred"],
  [null, "the record does not speak of all"],
]);

function figure(value, decimals) {
  const read = plainNumber(value);
  return read === null ? "" : number(read, decimals);
}

function verdict(item) {
  const score = figure(item.score, 1);
  return [text(item.relevance), score && `${score} of 100`].filter(Boolean).join(", ");
}

function conditions(item) {
  return CONDITIONS.get(item.constraints_met) ?? "";
}

/** A fold with score, relevance, conditions and retrieval; null where the item has none of them. */
export function why(item, name) {
  const source = text(item.retrieval_source);
  const pairs = details([
    ["Judged", verdict(item)],
    ["Conditions", conditions(item)],
    ["Found", Object.hasOwn(FOUND_BY, source) ? FOUND_BY[source] : source],
    ["Closeness of meaning", figure(item.vector_score, 2) && `${figure(item.vector_score, 2)} (of −3 to 3)`],
    ["Match of words", figure(item.bm25_score, 2) && `${figure(item.bm25_score, 2)} (BM25)`],
  ]);
  if (!pairs) {
    return null;
  }
  const about = el("span", { class: "visually-hidden" }, `: ${name}`);
  return el("details", { class: "card-fold card-why" }, el("summary", {}, "Why this result", about), pairs);
}
