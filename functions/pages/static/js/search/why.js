// Why a result was found and how it was judged: shown to those who ask.
import { el } from "../dom.js";
import { number } from "../format.js";
import { finite, texts } from "./shape.js";

const LEGS = {
  embedding: "its meaning is among the nearest to the question",
  phrasing: "it is among the best for one wording of the question",
  source: "it is among the best of its source",
  keyword: "it holds words of the question",
};

/** A fold with the scores and the ways a result was found by; null where the reply says nothing of these. */
export function why(entry) {
  const scores = [
    ["Nearness in meaning", finite(entry.embedScore)],
    ["The judge’s verdict", finite(entry.rerankScore)],
  ].filter(([, score]) => score !== null);
  const legs = texts(entry.foundBy).map((leg) => LEGS[leg] ?? leg);
  if (!scores.length && !legs.length) return null;
  return el(
    "details",
    { class: "why" },
    el("summary", { class: "small" }, "Why it matched"),
    el(
      "dl",
      { class: "pairs" },
      scores.map(([name, score]) => [el("dt", {}, name), el("dd", {}, meter(name, score))]),
    ),
    legs.length > 0 && el("p", { class: "small" }, "Found because"),
    legs.length > 0 &&
      el(
        "ul",
        { class: "small foreign" },
        legs.map((leg) => el("li", {}, leg)),
      ),
  );
}

function meter(name, score) {
  const held = Math.min(100, Math.max(0, score));
  return [
    el("meter", { min: "0", max: "100", low: "50", value: String(held), "aria-label": name }),
    ` ${number(score, 1)} of 100`,
  ];
}
