// Which sources and publishers results are held to: boxes with counts, and chips of what is chosen.
import { el } from "../dom.js";
import { number } from "../format.js";
import { clipped } from "./shape.js";

const LONGEST_NAME = 120;
const KINDS = { sources: "Source", publishers: "Publisher", tags: "Tag" };

/** One group of boxes, which stays in place while counts and choices change, so that nobody loses the focus. */
export class FilterGroup {
  /** `onChoice(value, chosen)` is called when a box is set or cleared by hand. */
  constructor(heading, onChoice) {
    this.rows = new Map();
    this.onChoice = onChoice;
    this.list = el("ul", { class: "plain-list filter-list" });
    const name = el("legend", { class: "eyebrow" }, heading);
    this.element = el("fieldset", { class: "filter", hidden: true }, name, this.list);
  }

  /** `values` are `[value, count]`; what is chosen is shown too, and what has no count any more counts nothing. */
  update(values, chosen, nameOf = (value) => value) {
    const counts = new Map(values);
    for (const value of new Set([...counts.keys(), ...chosen])) this.row(value, nameOf(value));
    for (const [value, { box, count }] of this.rows) {
      box.checked = chosen.includes(value);
      count.textContent = number(counts.get(value) ?? 0);
    }
    this.element.hidden = this.rows.size === 0;
  }

  row(value, name) {
    const known = this.rows.get(value);
    if (known) {
      known.name.textContent = clipped(name, LONGEST_NAME);
      return;
    }
    const box = el("input", { type: "checkbox", value, onchange: () => this.onChoice(value, box.checked) });
    const shown = el("span", { class: "foreign" }, clipped(name, LONGEST_NAME));
    const count = el("span", { class: "number muted" });
    this.rows.set(value, { box, count, name: shown });
    this.list.append(el("li", {}, el("label", { class: "check small" }, box, shown, count)));
  }
}

/** Chips of all that results are held to, each with a cross; `onRemove(key, value)`. Empty where there is nothing. */
export function activeChips(asked, nameOf, onRemove) {
  const chips = Object.entries(KINDS).flatMap(([key, kind]) =>
    asked[key].map((value) => chip(kind, clipped(nameOf(key, value), 60), () => onRemove(key, value))),
  );
  if (!asked.judged) chips.push(chip("Order", "nearest in meaning, not judged", () => onRemove("judged", true)));
  return chips;
}

function chip(kind, name, onclick) {
  const label = `Remove ${kind.toLowerCase()} ${name}`;
  const cross = el("button", { type: "button", class: "chip-remove", "aria-label": label, onclick }, "×");
  return el("li", { class: "chip foreign" }, el("span", { class: "muted" }, `${kind}:`), ` ${name} `, cross);
}
