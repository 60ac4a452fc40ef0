/** The conditions that a question's words were read as, each of which can be taken away. */

import { el } from "../dom.js";
import { clip } from "../format.js";
import { fieldName } from "./fields.js";
import { each, isObject, plainNumber, text } from "./values.js";

const SIGNS = {
  "<": "under",
  "<=": "at most",
  ">": "over",
  ">=": "at least",
  "=": "",
  has: "",
  "!=": "not",
  lacks: "not",
};
const WORDS_LENGTH = 60;

/**
 * A list of chips for the content of a `restrictions` message: each condition in the question's own words, and its
 * order. A chip's cross calls `onRemove(condition)` with the condition as the message has it; for the order that is
 * `{id: "order", field, text, …}`. Conditions that were read from the same words are one chip. The list is hidden where
 * there is nothing to show.
 */
export function constraintChips(restrictions, onRemove) {
  const chips = conditions(restrictions).map((condition) => chip(condition, onRemove));
  return el(
    "ul",
    { class: "chips constraint-chips", "aria-label": "Read from the question", hidden: chips.length === 0 },
    chips,
  );
}

function conditions(restrictions) {
  if (!isObject(restrictions)) {
    return [];
  }
  const order = isObject(restrictions.order) ? [{ id: "order", ...restrictions.order }] : [];
  const distinct = new Map();
  for (const one of [...each(restrictions.constraints), ...order]) {
    const words = isObject(one) ? text(one.text) : "";
    if (words && !distinct.has(words)) {
      distinct.set(words, one);
    }
  }
  return [...distinct.values()];
}

function chip(condition, onRemove) {
  const words = clip(text(condition.text), WORDS_LENGTH);
  const attributes = { class: "chip-remove", type: "button", title: "Ask again without it" };
  return el(
    "li",
    { class: `chip constraint-chip${condition.hard === false ? " is-soft" : ""}`, title: meaning(condition) || null },
    el("span", { class: "foreign", dir: "auto" }, words),
    condition.hard === false && el("span", { class: "muted" }, " preferred"),
    el(
      "button",
      { ...attributes, "aria-label": `Ask again without ${words}`, onclick: () => onRemove(condition) },
      "×",
    ),
  );
}

/** "length under 4.83 km": how the words were understood. */
function meaning({ id, field, op, value, unit }) {
  if (id === "order") {
    return `sorted by ${fieldName(text(field))}`;
  }
  const figure = plainNumber(value);
  const amount =
    figure === null
      ? each(value)
          .map((one) => text(one))
          .join(" or ")
      : figure.toLocaleString("en-US");
  const sign = Object.hasOwn(SIGNS, text(op)) ? SIGNS[text(op)] : text(op);
  return clip([fieldName(text(field)), sign, amount, text(unit)].filter(Boolean).join(" "), 120);
}
