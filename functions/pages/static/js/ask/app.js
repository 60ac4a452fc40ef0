// The ask page of a site: everything put together.

import { announce, clear, el } from "../dom.js";
import { fetchJson } from "../api.js";
import { number } from "../format.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { confirmed, newTitle, prepareDialogs } from "./dialogs.js";
import { Drawer } from "./drawer.js";
import { asJson, asMarkdown, askedAddress, download, fileName, sharedQuestion } from "./export.js";
import { Picker } from "./picker.js";
import { LEADS, SAMPLES } from "./samples.js";
import { Sidebar } from "./sidebar.js";
import { endpoints, kindOf, SITES, threadAddress } from "./sites.js";
import { Threadstore } from "./threadstore.js";
import { Toast } from "./toast.js";
import { UsageDialog } from "./usage.js";
import { fitToViewport } from "./viewport.js";

const id = (name) => document.getElementById(name);

class Page {
  constructor(kind, store) {
    this.site = { kind, ...SITES[kind], ...endpoints(kind, new URL(window.location.href)) };
    this.store = store;
    this.corpus = {};
    this.toast = new Toast();
    this.picker = new Picker();
    this.usage = new UsageDialog(kind);
    this.composer = new Composer({ onAsk: (text) => this.ask(text), onStop: () => this.conversation.stop() });
    this.drawer = new Drawer();
    this.sidebar = this._sidebar();
    this.conversation = this._conversation();
    this._bindTopBar();
    prepareDialogs();
    fitToViewport();
    this._watchStore();
    this._showSamples();
    document.title = `Ask ${this.site.label} · NLWeb Samples`;
    id("scope-chip").textContent = this.site.label;
  }

  _sidebar() {
    return new Sidebar({
      kind: this.site.kind,
      store: this.store,
      onOpen: (thread) => this.open(thread),
      onRename: (thread) => this._rename(thread),
      onRemove: (thread) => this._remove(thread),
      onClear: () => this._clearAll(),
    });
  }

  _conversation() {
    return new Conversation({
      site: this.site,
      store: this.store,
      toast: this.toast,
      place: { scroll: id("scroll"), thread: id("thread"), composer: this.composer },
      choice: () => this.picker.choice(),
      corpus: () => this.corpus,
      onChange: () => this._show(),
      onBusy: (isBusy) => this._busy(isBusy),
    });
  }

  _bindTopBar() {
    const acts = {
      "new-chat": () => this.startNew(),
      "new-chat-top": () => this.startNew(),
      "new-subject": () => this.startNew(),
      "rename-thread": () => this._rename(this.conversation),
      "export-json": () => this._export("json"),
      "export-markdown": () => this._export("md"),
      "delete-thread": () => this._remove(this.conversation),
    };
    for (const [name, act] of Object.entries(acts)) {
      id(name).addEventListener("click", () => {
        id("thread-menu").hidePopover?.();
        act();
      });
    }
    window.addEventListener("popstate", (event) => this._went(event.state));
    window.addEventListener("hashchange", () => this._openHash());
  }

  _watchStore() {
    this.store.onChange = async (_thread, isElsewhere) => {
      await this.sidebar.refresh();
      if (isElsewhere) {
        await this.conversation.refresh();
      }
    };
    this.store.onGone = () => {
      this.toast.show("This browser no longer keeps conversations here: they end with a reload.", "", null);
      this.sidebar.refresh();
    };
  }

  /** What the address wants: a stored conversation, a question, or what was open before a reload; else nothing yet. */
  async begin() {
    this._show();
    this._readHealth();
    await this.sidebar.refresh();
    const shared = sharedQuestion(new URL(window.location.href));
    if (window.location.hash.startsWith("#thread=")) {
      await this._openHash();
    } else if (shared) {
      window.history.replaceState(null, "", askedAddress(window.location));
      this.picker.set(shared);
      this.ask(shared.question);
    } else if (window.history.state?.thread) {
      await this.conversation.open(window.history.state.thread);
    }
    if (await this.store.backfill()) {
      await this.sidebar.refresh();
    }
  }

  /** Ask what was typed or picked. False, and nothing is asked, while an answer is still coming. */
  ask(question) {
    if (this.composer.isBusy) {
      announce("Still searching. Stop it to ask something else.");
      return false;
    }
    this.conversation.ask(question);
    this.composer.focus();
    return true;
  }

  startNew() {
    this.conversation.startNew();
    this._remember(null);
    this.drawer.closeIfOver();
    this.composer.focus();
  }

  async open(thread) {
    this.drawer.closeIfOver();
    if (await this.conversation.open(thread)) {
      this._remember(thread);
      this.composer.focus();
    } else {
      this.toast.show("That conversation is not in this browser.", "", null);
    }
  }

  /** The conversation on the page is kept with the page's entry in the history: reload, back and forward find it. */
  _remember(thread) {
    if ((window.history.state?.thread ?? null) !== thread) {
      window.history.pushState({ thread }, "", askedAddress(window.location));
    }
  }

  async _went(state) {
    const thread = state?.thread ?? null;
    if (thread === this.conversation.id || window.location.hash) {
      return;
    }
    if (!thread || !(await this.conversation.open(thread))) {
      this.conversation.startNew();
    }
  }

  /** `#thread=<id>` is how one site's page opens a conversation on another's. */
  async _openHash() {
    if (!window.location.hash.startsWith("#thread=")) {
      return;
    }
    const wanted = new URLSearchParams(window.location.hash.slice(1)).get("thread");
    const thread = await this.store.thread(wanted);
    window.history.replaceState(thread ? { thread: wanted } : null, "", askedAddress(window.location));
    if (thread && thread.scope !== this.site.kind && Object.hasOwn(SITES, thread.scope)) {
      window.location.assign(threadAddress(thread.scope, wanted));
      return;
    }
    await this.open(wanted);
  }

  // --- what the page shows of the conversation ---

  _show() {
    const { conversation } = this;
    const isEmpty = conversation.turns.length === 0;
    id("chat-title").textContent = conversation.title || "New chat";
    id("chat-title").title = conversation.title;
    id("intro").hidden = !isEmpty;
    id("followup").hidden = isEmpty;
    this.composer.box.placeholder = isEmpty ? this.site.placeholder : "Ask a follow-up";
    id("menu-open").hidden = isEmpty;
    this.sidebar.mark(conversation.id);
    if (conversation.id && !conversation.turns.some((turn) => turn.isUnderWay) && !window.history.state?.thread) {
      window.history.replaceState({ thread: conversation.id }, "");
    }
    this.usage.show(this.composer.isBusy ? [] : conversation.records);
  }

  _busy(isBusy) {
    this.composer.setBusy(isBusy);
    if (isBusy) {
      this.usage.hide();
      id("samples").open = false;
    }
  }

  _showSamples() {
    const lead = LEADS[this.site.kind];
    id("samples-lead").textContent = lead ?? "";
    id("samples-lead").hidden = !lead;
    const chips = SAMPLES[this.site.kind].map(([question, tests]) =>
      el("li", {}, el("button", { type: "button", class: "chip", title: tests, onclick: () => this.ask(question) }, question)),
    );
    clear(id("sample-queries")).append(...chips);
  }

  async _readHealth() {
    const { body } = await fetchJson(this.site.health, { cache: "no-store" });
    const count = body?.collections?.[this.site.kind];
    this.corpus = body?.corpus ?? {};
    if (typeof count === "number") {
      const words = `${number(count)} ${this.site.kind}`;
      id("scope-chip").textContent = [words, typeof body.label === "string" && body.label].filter(Boolean).join(" · ");
      id("scope-chip").title = `Corpus ${this.corpus.snapshot_id ?? ""}, built ${this.corpus.built_at ?? ""}`;
    }
  }

  // --- what is done to a conversation ---

  async _rename(thread) {
    const title = await newTitle(thread.title);
    if (title && thread.id === this.conversation.id) {
      await this.conversation.rename(title);
    } else if (title) {
      await this.store.rename(thread.id, title);
    }
  }

  async _remove(thread) {
    const isOpen = thread.id === this.conversation.id;
    const removed = thread.id === null || !this.store.isKept ? null : await this.store.removeThread(thread.id);
    if (isOpen) {
      this.conversation.forget();
      this._remember(null);
    }
    this.toast.show("Conversation deleted.", removed ? "Undo" : "", removed && (() => this._restore(removed, isOpen)));
  }

  async _restore(removed, wasOpen) {
    await this.store.restore(removed);
    if (wasOpen && !this.conversation.turns.length) {
      await this.open(removed.thread.id);
    }
  }

  async _clearAll() {
    const count = this.sidebar.threads.length;
    const words = `All ${number(count)} conversations of all five sites leave this browser. This cannot be undone.`;
    if (await confirmed("Delete every conversation?", words, "Delete all")) {
      await this.store.clear();
      this.conversation.forget();
      this._remember(null);
      this.toast.show("Every conversation was deleted.", "", null);
    }
  }

  async _export(ending) {
    const { conversation, site } = this;
    const stored = conversation.id && (await this.store.thread(conversation.id));
    const thread = stored || { title: conversation.title, scope: site.kind, corpus: this.corpus, createdAt: Date.now() };
    const records = await conversation.allRecords();
    const isJson = ending === "json";
    const text = isJson ? asJson(thread, records) : asMarkdown(thread, records, site.label);
    download(text, fileName(thread.title, ending), isJson ? "application/json" : "text/markdown");
    announce("Exported.");
  }
}

async function begin() {
  const kind = kindOf(window.location.pathname);
  if (kind) {
    await new Page(kind, await Threadstore.open()).begin();
  } else {
    window.location.replace("../");
  }
}

await begin();
