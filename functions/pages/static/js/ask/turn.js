// A turn under way: it asks, shows what comes as it comes, and ends in one of four ways.

import { announce, el } from "../dom.js";
import { plural } from "../format.js";
import { ask, AskFailed, countdown } from "./asking.js";
import { BrokenOff } from "./stream.js";
import { newRecord, Reception } from "./record.js";
import { statusOf } from "./turn_view.js";

const SAYS_SECONDS_AFTER_MS = 5000;

/**
 * One question of a conversation: its record (null until it is read from the store), its number there, its element.
 * The element is an empty place until something is shown of the turn: of 500 stored turns few are ever looked at.
 */
export class Turn {
  constructor(makeView) {
    this.element = el("section", { class: "turn is-waiting" });
    this.record = null;
    this.threadId = null;
    this.seq = null;
    this._makeView = makeView;
    this._view = null;
    this._stopping = null;
  }

  get isShown() {
    return this._view !== null;
  }

  /** What shows the turn; asking for it puts it in the place. */
  get view() {
    if (this._view === null) {
      this._view = this._makeView();
      this.element.replaceWith(this._view.element);
      this.element = this._view.element;
    }
    return this._view;
  }

  /** Give an empty place its question. */
  showOutline(question) {
    if (!this.isShown && !this.element.hasChildNodes()) {
      this.element.append(el("h2", { class: "turn-question foreign", dir: "auto" }, question));
    }
  }

  get isUnderWay() {
    return this._stopping !== null;
  }

  stop() {
    this._stopping?.abort();
  }

  /**
   * Ask, and resolve once the turn is over, however it ended; the record is whole then. `retry` is what asking again
   * does. `body` is what is sent beside the question.
   */
  async ask(address, { question, mode, model, body, retry }) {
    this._begin(newRecord(question, mode, model));
    const reception = new Reception(this.record);
    const clock = setInterval(() => this._searching(reception), 1000);
    try {
      const failure = await this._received(address, { query: question, mode, ...body }, reception);
      this._end(reception, failure, retry);
    } finally {
      clearInterval(clock);
      this._stopping = null;
    }
  }

  _begin(record) {
    this._stopping = new AbortController();
    this.record = record;
    this.startedAt = Date.now();
    this.view.reset();
    this.view.showQuestion(record.question);
    this.view.showStatus("Searching…", true);
    announce("Searching");
  }

  /** Read the whole stream. Returns null, or how it failed: `{ending, said?, retryAfter?}`. */
  async _received(address, body, reception) {
    const unread = { frames: 0 };
    const options = { signal: this._stopping.signal, onWait: (seconds) => this._waiting(seconds), unread };
    try {
      for await (const message of ask(address, body, options)) {
        this._show(reception.apply(message), reception);
      }
    } catch (error) {
      return failureOf(error);
    }
    if (unread.frames) {
      this._say(reception, `${plural(unread.frames, "message")} of the answer could not be read.`);
    }
    if (!reception.hasEnded) {
      return { ending: "broken" };
    }
    return reception.error && !this.record.results.length ? { ending: "failed" } : null;
  }

  _show(change, reception) {
    const { record, view } = this;
    const show = {
      interpreted: () => view.showInterpreted(record),
      restrictions: () => view.showHeld(record),
      candidate: () => view.addCandidates(reception.fresh),
      results: () => view.addResults(reception.fresh),
      answer: () => view.showAnswer(record.answer),
      notice: () => view.showNotices(record.notices, reception.error !== ""),
    }[change];
    show?.();
    if (change === "candidate" || change === "results") {
      this._searching(reception);
    }
  }

  _waiting(seconds) {
    const words = `The service is starting; asking again in ${plural(seconds, "second")}`;
    this.view.showStatus(words, true);
    if (!this._isWaiting) {
      announce(words);
    }
    this._isWaiting = true;
  }

  _searching(reception) {
    if (this._isWaiting && !reception.hasBegun) {
      return;
    }
    const found = this.record.results.length || reception.candidates.length;
    const kind = this.record.results.length ? "result" : "possible result";
    const elapsed = Date.now() - this.startedAt;
    const seconds = elapsed > SAYS_SECONDS_AFTER_MS ? `${Math.floor(elapsed / 1000)} s` : "";
    const words = ["Searching…", found ? plural(found, kind) : "", seconds && `${found ? "· " : ""}${seconds}`];
    this.view.showStatus(words.filter(Boolean).join(" "), true);
  }

  _say(reception, sentence) {
    this._show(reception.apply({ type: "intermediate_message", content: sentence }), reception);
  }

  _end(reception, failure, retry) {
    const { record, view } = this;
    this._isWaiting = false;
    if (failure) {
      record.ending = failure.ending;
      const isKept = failure.ending === "stopped" && !record.results.length;
      record.results = isKept ? reception.candidates : record.results;
    }
    if (failure?.ending === "broken") {
      this._say(reception, "The connection ended before the answer did, so this may not be all of it.");
    } else if (failure?.said) {
      this._say(reception, failure.said);
    }
    view.finish(record);
    announce([statusOf(record), failure?.said].filter(Boolean).join(". "));
    if (failure) {
      this._offerRetry(retry, failure.retryAfter);
    }
  }

  /** Asking again, once it makes sense. */
  async _offerRetry(retry, retryAfter) {
    const offer = (label, isOff) => this.view.offer([{ label, act: retry, isOff }]);
    if (retryAfter) {
      const record = this.record;
      await countdown(retryAfter, undefined, (left) => this.record === record && offer(`Ask again in ${wait(left)}`, true));
      if (this.record !== record) {
        return;
      }
    }
    offer("Ask again", false);
  }
}

/** What became of an attempt that threw; what is no failure of the network or the service is thrown on. */
function failureOf(error) {
  if (error.name === "AbortError") {
    return { ending: "stopped" };
  }
  if (error instanceof BrokenOff) {
    return { ending: "broken" };
  }
  if (error instanceof AskFailed) {
    const id = error.requestId && error.status >= 500 ? ` (request ${error.requestId})` : "";
    return { ending: "failed", said: `${error.message}${id}`, retryAfter: error.retryAfter };
  }
  throw error;
}

function wait(seconds) {
  if (seconds < 90) {
    return `${seconds} s`;
  }
  return seconds < 5400 ? plural(Math.ceil(seconds / 60), "minute") : plural(Math.ceil(seconds / 3600), "hour");
}
