/** The quiet line of a card about what its record does not say, or does not quite meet. */

import { el } from "../dom.js";
import { clip } from "../format.js";
import { fieldName } from "./fields.js";
import { each, isObject, text } from "./values.js";

const LONGEST = 200;

/** "Does not say: length, dogs", for the conditions of which an item's record says nothing; null where there are none. */
export function unknownLine(item, restrictions) {
  const ids = each(item.unknown).filter((id) => typeof id === "string");
  if (ids.length > 0) {
    return line(`Does not say: ${names(ids, restrictions).join(", ") || "whether it meets every condition"}`);
  }
  return item.constraints_met === false ? line("Misses something that you prefer") : null;
}

function names(ids, restrictions) {
  const constraints = isObject(restrictions) ? each(restrictions.constraints).filter(isObject) : [];
  const asked = constraints.filter((constraint) => ids.includes(constraint.id));
  return [...new Set(asked.map(nameOf).filter(Boolean))];
}

/** A length or a price goes by its name; a word that was asked for ("pool", "vegan") by itself. */
function nameOf({ field, op, value }) {
  const name = fieldName(text(field));
  return op === "has" && ["features", "diets", "ingredients", "activities"].includes(field)
    ? text(value) || name
    : name;
}

function line(words) {
  return el("p", { class: "card-unknown small muted" }, clip(words, LONGEST));
}
