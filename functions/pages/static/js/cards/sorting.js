/** By what the results of a turn can be sorted, where their records allow it. */

import { kindOf, recordOf } from "./kinds.js";

/**
 * The orders for these items: `[{id, label, compare}]`, each of which at least two of them have a value for.
 * `compare` is for `Array.prototype.sort` over items; those without a value come last, and equal ones keep their order.
 */
export function sortings(items) {
  const kinds = new Set(items.map((item) => kindOf(recordOf(item))).filter(Boolean));
  const orders = [...kinds].flatMap((kind) => kind.sorts.map((sort) => ordering(kind, sort)));
  const useful = orders.filter((order) => items.filter((item) => order.valueOf(item) !== null).length > 1);
  return useful.map(({ id, label, compare }) => ({ id, label, compare }));
}

function ordering(kind, sort) {
  const known = new Map();
  const valueOf = (item) => {
    if (!known.has(item)) {
      known.set(item, value(kind, sort, recordOf(item)));
    }
    return known.get(item);
  };
  return { id: sort.id, label: sort.label, valueOf, compare: comparing(valueOf, sort.isDescending) };
}

function value(kind, sort, record) {
  const read = kindOf(record) === kind ? sort.of(record) : null;
  return typeof read === "number" && Number.isFinite(read) ? read : null;
}

function comparing(valueOf, isDescending) {
  return (one, other) => {
    const [left, right] = [valueOf(one), valueOf(other)];
    if (left === null || right === null) {
      return (left === null) - (right === null);
    }
    return isDescending ? right - left : left - right;
  };
}
