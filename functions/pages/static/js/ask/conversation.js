// The conversation on the page: its turns, in order, and what is done to them.

import { announce, clear, copyText } from "../dom.js";
import { shareLink } from "./export.js";
import { contextOf, standing, titleOf } from "./record.js";
import { Turn } from "./turn.js";
import { TurnView } from "./turn_view.js";
import { without } from "./wording.js";

const CONTEXT_TURNS = 5;

/**
 * `place` is where turns are shown (`scroll`, `thread`), `choice()` gives the mode and model that are picked, `corpus()`
 * what the site says of its release, and `onChange()` is called whenever a title, a turn or a cost is another.
 */
export class Conversation {
  constructor({ site, store, toast, place, choice, corpus, onChange, onBusy }) {
    Object.assign(this, { site, store, toast, place, choice, corpus, onChange, onBusy });
    this.turns = [];
    this._seen = new IntersectionObserver((entries) => this._near(entries), { root: place.scroll, rootMargin: "800px" });
    this._begin(null);
  }

  get id() {
    return this.thread.id;
  }

  get title() {
    return this.thread.title;
  }

  get running() {
    return this.turns.find((turn) => turn.isUnderWay) ?? null;
  }

  /** The records that have been read, in their order. */
  get records() {
    return this.turns.map((turn) => turn.record).filter(Boolean);
  }

  /** Every record, read from the store where it has to be. */
  async allRecords() {
    return (await Promise.all(this.turns.map((turn) => this._recordOf(turn)))).filter(Boolean);
  }

  /** An empty conversation. What is under way in the one before it is stopped and kept there. */
  startNew() {
    this._begin(null);
    this.onBusy(false);
    this.onChange();
  }

  /** Show a stored conversation, its last question at the top. Resolves to whether it is there. */
  async open(id) {
    const thread = await this.store.thread(id);
    const seqs = thread ? await this.store.seqs(id) : [];
    if (!thread || !seqs.length) {
      return false;
    }
    this._begin(thread);
    this.onBusy(false);
    this.turns = seqs.map((seq) => this._storedTurn(id, seq));
    this.place.thread.append(...this.turns.map((turn) => turn.element));
    await this._fill(this.turns.at(-1));
    this.turns.at(-1).element.scrollIntoView();
    this._watch(this.turns);
    this.onChange();
    this._outline(this.thread);
    return true;
  }

  /**
   * Ask as a new turn; what is under way is stopped first. `isWhole` says that the question stands by itself, so that
   * the site does not read it in the light of the ones before.
   */
  async ask(question, { isWhole = false } = {}) {
    this.stop();
    const turn = this._newTurn();
    const { mode, model } = this.choice();
    const before = [...this.turns];
    this.turns.push(turn);
    this.place.thread.append(turn.element);
    await this._run(turn, before, { question, mode, model, isWhole });
  }

  stop() {
    this.running?.stop();
  }

  /** Go on with an empty conversation; the one on the page was deleted, and what is under way there is not kept. */
  forget() {
    for (const turn of this.turns) {
      turn.isRemoved = true;
    }
    this.startNew();
  }

  /** The title is the reader's own from now on. */
  async rename(title) {
    this.thread.title = title;
    this.thread.isRenamed = true;
    this.onChange();
    if (this.id !== null) {
      await this.store.rename(this.id, title);
    }
  }

  /** What another tab did to this conversation. */
  async refresh() {
    await this._keeping;
    const { thread } = this;
    const stored = thread.id === null ? null : await this.store.thread(thread.id);
    if (thread !== this.thread || thread.id === null) {
      return;
    }
    const seqs = new Set(stored ? await this.store.seqs(thread.id) : []);
    const gone = this.turns.filter((turn) => turn.seq !== null && !seqs.has(turn.seq));
    this._drop(gone);
    const known = new Set(this.turns.map((turn) => turn.seq));
    this._join([...seqs].filter((seq) => !known.has(seq)));
    thread.title = stored?.title ?? thread.title;
    if (!this.turns.length) {
      this._begin(null);
    }
    this.onChange();
  }

  // --- turns ---

  _begin(thread) {
    this.stop();
    this._seen.disconnect();
    // Turns keep the conversation they belong to, also after another one is on the page.
    this.thread = thread ?? { id: null, title: "", createdAt: Date.now() };
    this.turns = [];
    this._keeping = Promise.resolve();
    clear(this.place.thread);
  }

  _newTurn() {
    const turn = new Turn(
      () => new TurnView(this.site.kind, {
        remove: () => this._remove(turn),
        copyLink: () => this._copyLink(turn),
        drop: (constraint) => this._askWithout(turn, constraint),
      }),
    );
    return turn;
  }

  _storedTurn(id, seq) {
    const turn = this._newTurn();
    [turn.threadId, turn.seq] = [id, seq];
    turn.element.turn = turn;
    return turn;
  }

  async _run(turn, before, asked) {
    const { thread } = this;
    turn.view.element.classList.add("is-fresh");
    this.onBusy(true);
    this._toTop(turn.element);
    thread.title ||= titleOf([asked]);
    const body = {
      site: this.site.kind,
      ...(await this._contextOf(before)),
      ...(asked.model ? { ranking_model: asked.model } : {}),
      ...(asked.isWhole ? { decontextualized_query: asked.question } : {}),
    };
    this.onChange();
    await turn.ask(this.site.ask, { ...asked, body, retry: () => this._again(turn, asked) });
    if (thread === this.thread) {
      this.onBusy(this.running !== null);
      this.onChange();
    }
    await this._keep(turn, thread);
  }

  async _contextOf(turns) {
    const records = await Promise.all(turns.slice(-CONTEXT_TURNS).map((turn) => this._recordOf(turn)));
    return contextOf(records.filter(Boolean));
  }

  /** Ask the same once more, in the same place. */
  _again(turn, asked) {
    const place = this.turns.indexOf(turn);
    if (place >= 0) {
      this.stop();
      this._run(turn, this.turns.slice(0, place), asked);
    }
  }

  _keep(turn, thread) {
    const kept = this._keeping.then(() => this._kept(turn, thread));
    // One after the other, also behind one that failed: whoever asked for that one hears of it.
    this._keeping = kept.catch(() => {});
    return kept;
  }

  async _kept(turn, thread) {
    if (turn.isRemoved || !this.store.isKept) {
      return;
    }
    try {
      if (turn.seq !== null) {
        await this.store.replace(thread.id, turn.seq, turn.record);
        return;
      }
      const about = { scope: this.site.kind, corpus: this.corpus(), title: thread.title };
      const place = await this.store.add(thread.id, turn.record, about);
      [thread.id, turn.seq] = [place.id, place.seq];
      if (thread.isRenamed) {
        await this.store.rename(thread.id, thread.title);
      }
      if (thread === this.thread) {
        this.onChange();
      }
    } catch (error) {
      this._notKept(turn, thread, error);
    }
  }

  _notKept(turn, thread, error) {
    if (!(error instanceof DOMException)) {
      throw error;
    }
    const isFull = error.name === "QuotaExceededError";
    const why = isFull ? "this browser has no room left for this page" : `this browser says ${error.name}`;
    turn.view.showNotices([...turn.record.notices, `Not kept: ${why}. It will be gone after a reload.`]);
    turn.view.offer([{ label: "Try to keep it again", act: () => this._keepAgain(turn, thread) }]);
    announce("The answer could not be kept in this browser.");
  }

  async _keepAgain(turn, thread) {
    turn.view.offer([]);
    turn.view.showNotices(turn.record.notices);
    await this._keep(turn, thread);
  }

  async _remove(turn) {
    const { thread } = this;
    const place = this.turns.indexOf(turn);
    turn.isRemoved = true;
    turn.stop();
    this._drop([turn]);
    await this._keeping;
    const taken = turn.seq === null || !this.store.isKept ? null : await this.store.removeTurn(thread.id, turn.seq);
    if (thread === this.thread && !this.turns.length) {
      this._begin(null);
    }
    await this._readTitle(thread);
    await this._focus(this.turns[place] ?? this.turns[place - 1]);
    this.toast.show("Question removed.", "Undo", () => this._putBack(turn, thread, place, taken));
  }

  async _putBack(turn, thread, place, taken) {
    turn.isRemoved = false;
    await (taken ? this.store.restore(taken) : this._keep(turn, thread));
    if (thread !== this.thread && !this.turns.length && this.id === null) {
      this.thread = thread;
    }
    if (thread === this.thread) {
      this.turns.splice(place, 0, turn);
      this.place.thread.insertBefore(turn.view.element, this.turns[place + 1]?.element ?? null);
      await this._focus(turn);
    }
    await this._readTitle(thread);
  }

  async _focus(turn) {
    if (turn) {
      await this._fill(turn);
      turn.view.heading.focus({ preventScroll: true });
    }
  }

  /** Unless its reader named it, a conversation is called by its first question, whichever that is now. */
  async _readTitle(thread) {
    const stored = thread.id === null ? null : await this.store.thread(thread.id);
    thread.title = stored?.title ?? thread.title;
    this.onChange();
  }

  _drop(turns) {
    for (const turn of turns) {
      turn.element.remove();
    }
    this.turns = this.turns.filter((turn) => !turns.includes(turn));
  }

  /** Turns that another tab added. */
  _join(seqs) {
    const added = seqs.map((seq) => this._storedTurn(this.id, seq));
    this.turns.push(...added);
    this.place.thread.append(...added.map((turn) => turn.element));
    this._watch(added);
  }

  async _copyLink(turn) {
    const record = await this._recordOf(turn);
    const isCopied = record !== null && (await copyText(shareLink(record)));
    this.toast.show(isCopied ? "Link copied: it asks this question at once." : "The link could not be copied.", "", null);
  }

  async _askWithout(turn, constraint) {
    const record = await this._recordOf(turn);
    const left = without(standing(record), constraint.text) ?? without(record.question, constraint.text);
    if (left === null) {
      this.place.composer.text = standing(record);
      this.place.composer.focus();
      announce("That condition is in other words in the question: change it and ask again.");
    } else {
      await this.ask(left || this.site.label.toLowerCase(), { isWhole: true });
    }
  }

  // --- reading what is stored, as late as can be ---

  async _recordOf(turn) {
    if (!turn.record && turn.seq !== null) {
      turn.record = await this.store.record(turn.threadId, turn.seq);
    }
    return turn.record;
  }

  _watch(turns) {
    for (const turn of turns) {
      if (!turn.isShown) {
        this._seen.observe(turn.element);
      }
    }
  }

  _near(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) {
        this._seen.unobserve(target);
        this._fill(target.turn);
      }
    }
  }

  async _fill(turn) {
    const record = turn.isShown ? null : await this._recordOf(turn);
    if (turn.isShown) {
      return;
    }
    if (record) {
      turn.view.show(record);
    } else {
      turn.view.showQuestion("A question that cannot be read");
      turn.view.showStatus("What this browser kept of it is damaged.");
    }
    this.onChange();
  }

  /** Give every turn its heading, when there is nothing else to do, so that the conversation can be looked through. */
  async _outline(thread) {
    for (const turn of [...this.turns].reverse()) {
      await idle();
      if (thread !== this.thread) {
        return;
      }
      const record = turn.isShown ? null : await this._recordOf(turn);
      if (record) {
        turn.showOutline(record.question);
      }
    }
    this.onChange();
  }

  _toTop(element) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element.scrollIntoView({ behavior: isStill ? "auto" : "smooth", block: "start" });
  }
}

const idle = () =>
  new Promise((resolve) => (globalThis.requestIdleCallback ? requestIdleCallback(() => resolve()) : setTimeout(resolve, 16)));
