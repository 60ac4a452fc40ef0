/** Which kind of card a record gets. A sixth kind is one file and one line here. */

import { home } from "./home.js";
import { movie } from "./movie.js";
import { recipe } from "./recipe.js";
import { review } from "./review.js";
import { trail } from "./trail.js";
import { isObject, texts } from "./values.js";

const KINDS = [recipe, movie, review, trail, home];

/** The record of an item, or an empty one where the item has none. */
export function recordOf(item) {
  return isObject(item) && isObject(item.schema_object) ? item.schema_object : {};
}

/** The first kind of which the record's `@type` names a type, or null. */
export function kindOf(record) {
  const types = new Set(texts(record["@type"]).map((type) => type.split(/[/#]/).at(-1)));
  return KINDS.find((kind) => kind.types.some((type) => types.has(type))) ?? null;
}
