// What the collection holds: its sources by the manifest, and how the tables spread over them. No model is asked.
import { fetchJson, postJson, tablesUrl } from "../api.js";
import { filterOf } from "./address.js";
import { SOURCE_TYPE } from "./leaf.js";
import { finite, record, records, text, texts } from "./shape.js";

const MOST_BUCKETS = 1_000;
const MOST_WORDS = 6;

/**
 * Every source that the manifest lists: `{directory, identifier, title, description, scope, tables, publisher,
 * questions}`. `reply` is what fetchJson said, also of why there is no list.
 */
export async function readSources(options) {
  const reply = await fetchJson(tablesUrl("/.well-known/ard.json"), options);
  const entries = records(record(reply.body).entries).filter((entry) => entry.type === SOURCE_TYPE);
  return { sources: reply.ok ? entries.map(source) : [], reply };
}

function source(entry) {
  return {
    directory: text(entry["okf:sourceDirectory"]),
    identifier: text(entry.identifier),
    title: text(entry.displayName).replace(/ \(access\)$/, "") || text(entry["okf:sourceDirectory"]),
    description: text(entry.description),
    scope: text(entry["okf:entityType"]),
    tables: finite(entry["okf:tableCount"]),
    publisher: text(entry.identifier).split(":")[2] ?? "",
    questions: texts(entry.representativeQueries),
  };
}

/** Questions that the collection answers: those of its first sources in turn, without any that has blanks to fill. */
export function exampleQuestions(sources, most) {
  const lists = sources.map(({ questions }) => questions.filter((each) => !each.includes("{") && each.length <= 90));
  const rounds = Math.max(0, ...lists.map((list) => list.length));
  const inTurn = Array.from({ length: rounds }, (_, round) => lists.map((list) => list[round])).flat();
  return [...new Set(inTurn.filter(Boolean))].slice(0, most);
}

/**
 * How many tables each source and publisher has: lists of `[value, count]`, largest first. Each is counted under what
 * is chosen of the other, so a count says what choosing it would leave. null where the counts could not be had.
 */
export async function readCounts(asked, options) {
  const [sources, publishers] = await Promise.all([
    counted("source", { ...asked, sources: [] }, options),
    counted("publisher", { ...asked, publishers: [] }, options),
  ]);
  return sources && publishers && { sources, publishers };
}

async function counted(field, asked, options) {
  const filter = filterOf(asked);
  const body = {
    resultType: { facets: [{ field, limit: MOST_BUCKETS }] },
    ...(filter && { query: { filter } }),
    ...(asked.sources.length && { sources: asked.sources }),
  };
  const reply = await postJson(tablesUrl("/explore"), body, options);
  if (!reply.ok) return null;
  const { buckets } = record(record(record(reply.body).facets)[field]);
  return records(buckets).map(({ value, count }) => [text(value), finite(count) ?? 0]);
}

/** The words of a question that stand in some table, with the number of these: what a broader search could say. */
export async function wordsThatMatch(question, options) {
  const words = [...new Set(question.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [])].slice(0, MOST_WORDS);
  const totals = await Promise.all(words.map((word) => tablesWith(word, options)));
  const found = words.map((word, at) => [word, totals[at]]).filter(([, total]) => total > 0);
  return found.sort(([, one], [, other]) => one - other);
}

async function tablesWith(word, options) {
  const body = { query: { text: word }, resultType: { facets: [{ field: "type", limit: 1 }] } };
  const reply = await postJson(tablesUrl("/explore"), body, options);
  return reply.ok ? (finite(record(reply.body).total) ?? 0) : 0;
}
