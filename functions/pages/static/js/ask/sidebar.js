// The list of conversations, those of all five sites.

import { el } from "../dom.js";
import { ago, bytes, plural } from "../format.js";
import { SITES, threadAddress } from "./sites.js";

/** `onOpen(id)` opens a conversation of this site; those of others are links to their own page. */
export class Sidebar {
  constructor({ kind, store, onOpen, onRename, onRemove, onClear }) {
    Object.assign(this, { kind, store, onOpen, onRename, onRemove });
    this.list = document.getElementById("conversations");
    this.search = document.getElementById("search");
    this.usage = document.getElementById("storage-usage");
    this.clearAll = document.getElementById("clear-all");
    this.threads = [];
    this._rows = new Map();
    this._pattern = pattern();
    this.openId = null;
    this.search.addEventListener("input", () => this._show());
    this.clearAll.addEventListener("click", onClear);
    this.list.addEventListener("click", (event) => this._click(event));
    this.list.addEventListener("keydown", (event) => this._key(event));
  }

  /** Read the list again. */
  async refresh() {
    this.threads = await this.store.threads();
    this._show();
  }

  /** Mark the conversation that is on the page. */
  mark(id) {
    this.openId = id;
    for (const link of this._links()) {
      setCurrent(link, link.dataset.id === id);
    }
  }

  _show() {
    const words = this.search.value.trim().toLowerCase();
    const has = ({ title, search }) => `${title} ${search ?? ""}`.toLowerCase().includes(words);
    const found = words ? this.threads.filter(has) : this.threads;
    const rows = found.map((thread) => this._row(thread));
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    this.list.replaceChildren(...rows);
    focused?.focus();
    this.mark(this.openId);
    this._sayWhatIsKept(found.length);
  }

  /** A conversation's row: the one that is there where nothing in it has changed, so that it keeps the focus. */
  _row(thread) {
    const title = thread.title || "Without a title";
    const meta = [SITES[thread.scope]?.label ?? String(thread.scope ?? ""), ago(thread.updatedAt)].filter(Boolean).join(" · ");
    const known = this._rows.get(thread.id);
    if (known?.title === title && known.meta === meta) {
      return known.row;
    }
    const row = this._newRow(thread, title, meta);
    this._rows.set(thread.id, { title, meta, row });
    return row;
  }

  /** A copy of one that was made before, which is quicker than making it part by part. */
  _newRow(thread, title, meta) {
    const row = this._pattern.cloneNode(true);
    const [link, rename, remove] = row.children;
    row.dataset.id = thread.id;
    link.dataset.id = thread.id;
    link.href = threadAddress(thread.scope, thread.id);
    link.firstChild.textContent = title;
    link.lastChild.textContent = meta;
    rename.setAttribute("aria-label", `Rename “${title}”`);
    remove.setAttribute("aria-label", `Delete “${title}”`);
    return row;
  }

  _click(event) {
    const thread = this.threads.find(({ id }) => id === event.target.closest("li")?.dataset.id);
    const part = event.target.closest("a, button");
    if (thread && part) {
      const act = { rename: () => this.onRename(thread), remove: () => this._remove(thread) }[part.dataset.act];
      (act ?? (() => this._follow(event, thread)))();
    }
  }

  _follow(event, thread) {
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (isPlain && thread.scope === this.kind) {
      event.preventDefault();
      this.onOpen(thread.id);
    }
  }

  async _remove(thread) {
    const links = this._links();
    const place = links.findIndex((link) => link.dataset.id === thread.id);
    const next = (links[place + 1] ?? links[place - 1])?.dataset.id;
    await this.onRemove(thread);
    (this._links().find((link) => link.dataset.id === next) ?? this.search).focus();
  }

  /** Arrows, Home and End go through the list; F2 renames and Delete deletes. */
  _key(event) {
    const links = this._links();
    const place = links.indexOf(event.target);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: links.length - 1 }[event.key];
    const thread = this.threads.find(({ id }) => id === event.target.dataset?.id);
    if (place < 0) {
      return;
    }
    if (to !== undefined) {
      event.preventDefault();
      links[to]?.focus();
    } else if (event.key === "Delete") {
      this._remove(thread);
    } else if (event.key === "F2") {
      this.onRename(thread);
    }
  }

  _links() {
    return [...this.list.querySelectorAll(".conversation-link")];
  }

  _sayWhatIsKept(found) {
    const turns = this.threads.reduce((sum, thread) => sum + (Number(thread.turnCount) || 0), 0);
    const size = this.threads.reduce((sum, thread) => sum + (Number(thread.bytes) || 0), 0);
    const kept = `${plural(turns, "turn")} · ${bytes(size)}`;
    this.usage.textContent = this.store.isKept ? kept : "This browser keeps no conversations here: they end with a reload.";
    this.clearAll.hidden = !this.threads.length;
    const none = document.getElementById("no-conversations");
    none.hidden = found > 0 || !this.store.isKept;
    const isSearched = this.threads.length > 0;
    none.textContent = isSearched ? "No conversation has these words." : "What you ask is kept in this browser and listed here.";
  }
}

function setCurrent(link, isCurrent) {
  if (isCurrent) {
    link.setAttribute("aria-current", "true");
  } else {
    link.removeAttribute("aria-current");
  }
}

function pattern() {
  const title = el("span", { class: "conversation-title clip foreign", dir: "auto" });
  const link = el("a", { class: "conversation-link" }, title, el("span", { class: "conversation-meta" }));
  return el("li", { class: "conversation" }, link, rowButton("✎", "rename"), rowButton("×", "remove"));
}

function rowButton(sign, act) {
  return el(
    "button",
    { type: "button", class: "icon-button row-button", dataset: { act } },
    el("span", { "aria-hidden": "true" }, sign),
  );
}
