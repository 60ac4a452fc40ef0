// A turn as it is kept: what was asked, and everything that came back. Whole items, so that a conversation that is
// opened again shows what it showed, and nothing is fetched for it.

const CONTEXT_TURNS = 5;
const CONTEXT_NAMES = 10;
const TITLE_LENGTH = 72;
const DIGEST_LENGTH = 4000;

/** A turn that has just been asked. `ending` stands on those alone that did not end as they should. */
export function newRecord(question, mode, model) {
  return {
    question,
    askedAt: Date.now(),
    interpretedAs: "",
    mode,
    model,
    results: [],
    answer: "",
    notices: [],
    usage: null,
  };
}

/** A stored turn with every part in place, whoever wrote it. */
export function wholeRecord(found) {
  const kept = found !== null && typeof found === "object" ? found : {};
  return {
    ...newRecord("", "summarize", ""),
    ...kept,
    question: text(kept.question),
    interpretedAs: text(kept.interpretedAs),
    answer: text(kept.answer),
    results: list(kept.results).filter(isItem),
    notices: list(kept.notices).map(text).filter(Boolean),
  };
}

/**
 * A stream's messages, put into the record one by one.
 *
 * `apply` says what changed, as a word for the view: "interpreted", "restrictions", "candidate", "results", "answer",
 * "notice", "usage", "end", or "" for what nobody shows.
 */
export class Reception {
  constructor(record) {
    this.record = record;
    this.candidates = [];
    // The items that the last message brought.
    this.fresh = [];
    this.hasBegun = false;
    this.hasEnded = false;
    this.error = "";
    this._seen = new Set();
  }

  apply({ type, content }) {
    this.hasBegun = true;
    return Object.hasOwn(TAKE, type) ? TAKE[type](this, content) : "";
  }
}

const TAKE = {
  decontextualized_query: (reception, content) => {
    reception.record.interpretedAs = text(content);
    return "interpreted";
  },
  restrictions: (reception, content) => {
    if (content === null || typeof content !== "object") {
      return "";
    }
    reception.record.restrictions = content;
    return "restrictions";
  },
  candidate: (reception, content) => {
    if (reception.record.results.length) {
      return "";
    }
    reception.fresh = items(content).filter((item) => !reception._seen.has(keyOf(item)));
    for (const item of reception.fresh) {
      reception._seen.add(keyOf(item));
    }
    reception.candidates.push(...reception.fresh);
    return reception.fresh.length ? "candidate" : "";
  },
  result: (reception, content) => {
    reception.fresh = items(content);
    reception.record.results.push(...reception.fresh);
    return reception.fresh.length ? "results" : "";
  },
  nlws: (reception, content) => {
    reception.record.answer = text(content?.answer);
    return reception.record.answer ? "answer" : "";
  },
  intermediate_message: (reception, content) => note(reception, content),
  error: (reception, content) => {
    reception.error = text(content) || "The search failed.";
    return note(reception, reception.error);
  },
  usage: (reception, content) => {
    if (content === null || typeof content !== "object") {
      return "";
    }
    reception.record.usage = content;
    return "usage";
  },
  "end-nlweb-response": (reception) => {
    reception.hasEnded = true;
    return "end";
  },
};

function note(reception, content) {
  const said = text(content);
  if (said === "" || reception.record.notices.includes(said)) {
    return "";
  }
  reception.record.notices.push(said);
  return "notice";
}

/** What is searched for a turn: its question as it stands by itself. */
export const standing = (record) => record.interpretedAs || record.question;

/** What a new question is told of the conversation before it. */
export function contextOf(records) {
  const last = records.at(-1);
  return {
    previous_queries: records.slice(-CONTEXT_TURNS).map(standing),
    previous_results: last ? last.results.slice(0, CONTEXT_NAMES).map((item) => text(item.name)) : [],
  };
}

/** A conversation's name: its first question, cut. */
export function titleOf(records) {
  const first = records[0]?.question.replace(/\s+/g, " ").trim() ?? "";
  return first.length > TITLE_LENGTH ? `${first.slice(0, TITLE_LENGTH - 1).trimEnd()}…` : first;
}

/** What the list's search looks into: questions, rewrites and names of results, in lower case. */
export function digestOf(records) {
  const words = records.flatMap((record) => [
    record.question,
    record.interpretedAs,
    ...record.results.map((item) => text(item.name).slice(0, 200)),
  ]);
  return words.filter(Boolean).join(" ").toLowerCase().slice(0, DIGEST_LENGTH);
}

/** One item for one thing: its address, else its collection and name. */
export const keyOf = (item) => text(item.url) || `${text(item.site)}:${text(item.name)}`;

const isItem = (item) => item !== null && typeof item === "object" && !Array.isArray(item);
const items = (content) => (Array.isArray(content) ? content : [content]).filter(isItem);
const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (typeof value === "string" ? value : typeof value === "number" ? String(value) : "");
