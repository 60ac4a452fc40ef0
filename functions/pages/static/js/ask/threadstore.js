// Conversations, kept in this browser and nowhere else.
//
// IndexedDB `ask-samples`, version 1: `threads` by id, `turns` by [threadId, seq], each turn's record as the gzip of
// its JSON. The names and shapes are those of the pages before these, which read what these write and the other way
// round; what is new in a thread or record is an extra key.

import { digestOf, titleOf, wholeRecord } from "./record.js";
import { packed, unpacked } from "./packing.js";

const NAME = "ask-samples";
const VERSION = 1;

/** All conversations of this browser. `isKept` is false where it keeps none: a page then lasts until its reload. */
export class Threadstore {
  constructor(db) {
    this.db = db;
    // Called after each change with the conversation's id (null for all of them) and whether another tab made it.
    this.onChange = () => {};
    this.onGone = () => {};
    this._channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(NAME);
    this._channel?.addEventListener("message", (event) => this.onChange(event.data?.thread ?? null, true));
    // Another tab wants to delete or change the database, and waits for as long as this one holds it open.
    db?.addEventListener("versionchange", () => this._gone());
    db?.addEventListener("close", () => this._gone());
  }

  static async open() {
    return new Threadstore(await opened());
  }

  get isKept() {
    return this.db !== null;
  }

  /** Every conversation, the latest first. */
  async threads() {
    if (!this.db) {
      return [];
    }
    const found = await this._read((stores) => stores.threads.getAll());
    return found.sort((one, other) => timeOf(other.updatedAt) - timeOf(one.updatedAt));
  }

  async thread(id) {
    return this.db ? ((await this._read((stores) => stores.threads.get(id))) ?? null) : null;
  }

  /** The numbers of a conversation's turns, in their order. */
  async seqs(id) {
    const keys = this.db ? await this._read((stores) => stores.turns.getAllKeys(wholeOf(id))) : [];
    return keys.map(([, seq]) => seq);
  }

  /** One turn's record, or null where it is not there or cannot be read. */
  async record(id, seq) {
    const row = this.db ? await this._read((stores) => stores.turns.get([id, seq])) : null;
    return row ? recordIn(row) : null;
  }

  /** All records of a conversation that can be read. */
  async records(id) {
    const rows = this.db ? await this._read((stores) => stores.turns.getAll(wholeOf(id))) : [];
    return (await Promise.all(rows.map(recordIn))).filter(Boolean);
  }

  /**
   * Keep a turn at the end of a conversation, which begins with it where `id` is null or the conversation was deleted
   * in another tab. Returns `{id, seq}`, or null where nothing is kept. Throws what the browser throws where there is
   * no room.
   */
  async add(id, record, { scope, corpus, title }) {
    if (!this.db) {
      return null;
    }
    const blob = await packed(record);
    const place = await this._write(async (stores) => {
      const known = id === null ? null : await done(stores.threads.get(id));
      const thread = known ?? newThread(id ?? newId(), scope, corpus, title || titleOf([record]));
      const last = await done(stores.turns.openKeyCursor(wholeOf(thread.id), "prev"));
      const seq = Math.max(last ? last.key[1] : 0, thread.lastSeq ?? 0) + 1;
      await done(stores.turns.put({ threadId: thread.id, seq, askedAt: record.askedAt, blob }));
      await done(stores.threads.put(grown(thread, record, seq, blob.byteLength)));
      return { id: thread.id, seq };
    });
    this._tell(place.id);
    return place;
  }

  /** Put a turn in the place of the one that was asked before it. */
  async replace(id, seq, record) {
    const blob = await packed(record);
    await this._write((stores) => done(stores.turns.put({ threadId: id, seq, askedAt: record.askedAt, blob })));
    await this._summarise(id);
  }

  /** Take a turn out; a conversation without turns goes with its last one. Returns what `restore` needs. */
  async removeTurn(id, seq) {
    const removed = await this._write(async (stores) => {
      const thread = await done(stores.threads.get(id));
      const row = await done(stores.turns.get([id, seq]));
      await done(stores.turns.delete([id, seq]));
      if ((await done(stores.turns.count(wholeOf(id)))) === 0) {
        await done(stores.threads.delete(id));
      }
      return { thread, rows: row ? [row] : [] };
    });
    await this._summarise(id);
    return removed;
  }

  /** Delete a conversation. Returns what `restore` needs. */
  async removeThread(id) {
    const removed = await this._write(async (stores) => {
      const thread = await done(stores.threads.get(id));
      const rows = await done(stores.turns.getAll(wholeOf(id)));
      await done(stores.turns.delete(wholeOf(id)));
      await done(stores.threads.delete(id));
      return { thread, rows };
    });
    this._tell(id);
    return removed;
  }

  /** Put back what was taken out. */
  async restore({ thread, rows }) {
    if (!thread) {
      return;
    }
    await this._write(async (stores) => {
      for (const row of rows) {
        await done(stores.turns.put(row));
      }
      if (!(await done(stores.threads.get(thread.id)))) {
        await done(stores.threads.put(thread));
      }
    });
    await this._summarise(thread.id);
  }

  /** A name of the reader's own, which no change of turns takes away. */
  async rename(id, title) {
    await this._change(id, (thread) => ({ ...thread, title, isRenamed: true }));
    this._tell(id);
  }

  async clear() {
    await this._write(async (stores) => {
      await done(stores.turns.clear());
      await done(stores.threads.clear());
    });
    this._tell(null);
  }

  /** Give conversations what older pages did not write: a digest for the search, and their size. */
  async backfill() {
    const threads = await this.threads();
    const bare = threads.filter((thread) => !thread.search || thread.bytes === undefined);
    for (const thread of bare) {
      await this._summarise(thread.id, { quiet: true });
    }
    return bare.length;
  }

  /** Work a conversation's summary out from its turns. */
  async _summarise(id, { quiet = false } = {}) {
    const rows = await this._read((stores) => stores.turns.getAll(wholeOf(id)));
    const records = (await Promise.all(rows.map(recordIn))).filter(Boolean);
    await this._change(id, (thread) => ({
      ...thread,
      title: thread.isRenamed ? thread.title : titleOf(records) || thread.title,
      search: digestOf(records),
      turnCount: rows.length,
      bytes: rows.reduce((sum, row) => sum + sizeOf(row.blob), 0),
      lastSeq: Math.max(thread.lastSeq ?? 0, rows.at(-1)?.seq ?? 0),
    }));
    if (!quiet) {
      this._tell(id);
    }
  }

  _change(id, change) {
    return this._write(async (stores) => {
      const thread = await done(stores.threads.get(id));
      if (thread) {
        await done(stores.threads.put(change(thread)));
      }
    });
  }

  _read(request) {
    const stores = this._stores("readonly");
    return done(request(stores));
  }

  async _write(work) {
    const stores = this._stores("readwrite");
    const kept = committed(stores.turns.transaction);
    // What fails inside fails the commit too; the commit's own error says why (no room), so it is the one thrown.
    const [result] = await Promise.all([work(stores).catch((error) => kept.then(() => Promise.reject(error))), kept]);
    return result;
  }

  _stores(mode) {
    if (!this.db) {
      throw new DOMException("Conversations are not kept any more", "InvalidStateError");
    }
    const transaction = this.db.transaction(["threads", "turns"], mode);
    return { threads: transaction.objectStore("threads"), turns: transaction.objectStore("turns") };
  }

  /** Other tabs hear of it by the channel, this one at once. */
  _tell(id) {
    this._channel?.postMessage({ thread: id });
    this.onChange(id, false);
  }

  _gone() {
    this.db?.close();
    this.db = null;
    this.onGone();
  }
}

function opened() {
  return new Promise((resolve) => {
    let request;
    try {
      request = indexedDB.open(NAME, VERSION);
    } catch {
      resolve(null);
      return;
    }
    request.addEventListener("upgradeneeded", () => {
      const db = request.result;
      db.createObjectStore("threads", { keyPath: "id" });
      db.createObjectStore("turns", { keyPath: ["threadId", "seq"] });
    });
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => resolve(null));
  });
}

function newId() {
  const time = Date.now().toString(36).padStart(9, "0");
  const random = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => (byte % 36).toString(36)).join("");
  return `t_${time}${random}`;
}

function newThread(id, scope, corpus, title) {
  const now = Date.now();
  return { id, title, scope, corpus, createdAt: now, updatedAt: now, turnCount: 0, search: "", schema: 1, lastSeq: 0, bytes: 0 };
}

const grown = (thread, record, seq, bytes) => ({
  ...thread,
  updatedAt: Date.now(),
  turnCount: (thread.turnCount ?? 0) + 1,
  search: `${thread.search ?? ""} ${digestOf([record])}`.trim().slice(0, 4000),
  lastSeq: seq,
  bytes: (thread.bytes ?? 0) + bytes,
});

const wholeOf = (id) => IDBKeyRange.bound([id], [id, []]);
const timeOf = (value) => new Date(value ?? 0).getTime() || 0;
const sizeOf = (blob) => blob?.byteLength ?? blob?.size ?? 0;

async function recordIn(row) {
  const found = await unpacked(row.blob);
  return found === null ? null : wholeRecord(found);
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}

function committed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve());
    transaction.addEventListener("abort", () => reject(transaction.error ?? new DOMException("Not stored", "AbortError")));
  });
}
