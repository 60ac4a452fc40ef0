// What is asked for, as the page's address holds it: ?q=…&source=…&publisher=…&tag=…&order=score&size=25&judge=0

export const SIZES = [10, 25, 50];
const LONGEST_QUESTION = 2_000;
const MOST_FILTERS = 50;
const NAMES = { sources: "source", publishers: "publisher", tags: "tag" };

/** The question of an address's query string, whatever it holds. */
export function read(search) {
  const given = new URLSearchParams(search);
  const all = (name) => [...new Set(given.getAll(name).filter((value) => value.trim()))].slice(0, MOST_FILTERS);
  const size = Number(given.get("size"));
  return {
    question: (given.get("q") ?? "").trim().slice(0, LONGEST_QUESTION),
    sources: all("source"),
    publishers: all("publisher"),
    tags: all("tag"),
    order: given.get("order") === "score" ? "score" : "source",
    size: SIZES.includes(size) ? size : SIZES[0],
    judged: given.get("judge") !== "0",
  };
}

/** Nothing asked, nothing chosen. */
export const NOTHING = read("");

/** The query string of a question, "" where nothing is asked or chosen; `read` gives the question back. */
export function written(asked) {
  const given = new URLSearchParams();
  if (asked.question) given.set("q", asked.question);
  for (const [key, name] of Object.entries(NAMES)) {
    for (const value of asked[key]) given.append(name, value);
  }
  if (asked.order !== "source") given.set("order", asked.order);
  if (asked.size !== SIZES[0]) given.set("size", String(asked.size));
  if (!asked.judged) given.set("judge", "0");
  const search = given.toString();
  return search && `?${search}`;
}

/** Whether the results are held to some sources, publishers or tags. */
export function isFiltered(asked) {
  return Object.keys(NAMES).some((key) => asked[key].length > 0);
}

/** The same question without one value of a filter. */
export function without(asked, key, value) {
  return { ...asked, [key]: asked[key].filter((each) => each !== value) };
}

export function withoutFilters(asked) {
  return { ...asked, sources: [], publishers: [], tags: [] };
}

/** The body of POST /search. */
export function searchBody(asked) {
  const filter = filterOf(asked);
  return {
    query: { text: asked.question, ...(filter && { filter }) },
    pageSize: asked.size,
    ...(asked.sources.length && { sources: asked.sources }),
    ...(asked.order !== "source" && { order: asked.order }),
    ...(!asked.judged && { rerank: false }),
  };
}

/** The filter of a body, or null where nothing is chosen but sources, which have a field of their own. */
export function filterOf({ publishers, tags }) {
  if (!publishers.length && !tags.length) return null;
  return { ...(publishers.length && { publisher: publishers }), ...(tags.length && { tags }) };
}
