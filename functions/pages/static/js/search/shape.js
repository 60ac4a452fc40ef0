// What a reply holds was written by others: each reader takes what has the right type, and nothing for the rest.

/** A string; numbers and truth values as they are written; "" for anything else. */
export function text(value) {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** The texts of a list that say something; one text is a list of one. */
export function texts(value) {
  return (Array.isArray(value) ? value : [value]).map((each) => text(each).trim()).filter(Boolean);
}

/** An object that is no list; an empty one for anything else. */
export function record(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** The objects of a list. */
export function records(value) {
  return (Array.isArray(value) ? value : []).filter((each) => each !== null && typeof each === "object");
}

/** A finite number, or null. */
export function finite(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A text cut to so many characters, never inside a surrogate pair. */
export function clipped(value, most) {
  if (value.length <= most) return value;
  const pair = /[\uD800-\uDBFF]/.test(value[most - 1]);
  return `${value.slice(0, pair ? most - 1 : most).trimEnd()}…`;
}
