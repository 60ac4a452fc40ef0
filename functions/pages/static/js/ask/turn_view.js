// One turn on the page. It shows what it is given and tells `actions` what was pressed; it keeps no turn and asks nobody.

import { renderCard } from "../cards/card.js";
import { constraintChips } from "../cards/chips.js";
import { mapSketch } from "../cards/map.js";
import { sortings } from "../cards/sorting.js";
import { append, clear, el } from "../dom.js";
import { plural } from "../format.js";
import { modelLabel } from "./models.js";
import { spent } from "./usage.js";

const WITH_MAP = new Set(["trails", "homes"]);
let made = 0;

export class TurnView {
  /** `actions`: remove(), again(), copyLink(), drop(constraint). */
  constructor(kind, actions) {
    this.kind = kind;
    this.actions = actions;
    this._build(`turn-${(made += 1)}`);
    this.reset();
  }

  _build(id) {
    this.heading = el("h2", { id, class: "turn-question foreign", dir: "auto", tabindex: "-1" });
    this.remove = iconButton("×", () => this.actions.remove());
    const quiet = { type: "button", class: "button button-small button-quiet" };
    this.link = el("button", { ...quiet, onclick: () => this.actions.copyLink() }, "Copy link");
    this.interpreted = el("p", { class: "turn-interpreted foreign", dir: "auto" });
    this.held = el("div", { class: "turn-held row" });
    this.status = el("p", { class: "turn-status" });
    this.notices = el("div", { class: "notice notice-warning turn-notices" });
    this.offers = el("div", { class: "turn-offers row" });
    this.answerBox = el("div", { class: "notice notice-info turn-answer foreign" });
    this.tools = el("div", { class: "turn-tools" });
    this.list = el("ol", { class: "turn-results plain-list" });
    this.element = el(
      "section",
      { class: "turn", "aria-labelledby": id },
      el("div", { class: "turn-head" }, this.heading, el("div", { class: "turn-actions" }, this.link, this.remove)),
      [this.interpreted, this.held, this.status, this.notices, this.offers, this.answerBox, this.tools, this.list],
    );
  }

  /** As it is before anything came. */
  reset() {
    for (const part of [this.interpreted, this.held, this.notices, this.offers, this.answerBox, this.tools, this.list]) {
      clear(part).hidden = part !== this.list;
    }
    this.items = [];
    this.areProvisional = false;
    this.restrictions = null;
  }

  showQuestion(question) {
    this.heading.textContent = question;
    const named = question.length > 60 ? `${question.slice(0, 59)}…` : question;
    this.remove.setAttribute("aria-label", `Remove the question “${named}”`);
    this.link.setAttribute("aria-label", `Copy link to the question “${named}”`);
  }

  showStatus(text, isBusy = false) {
    this.status.textContent = text;
    this.status.prepend(...(isBusy ? [el("span", { class: "spinner", "aria-hidden": "true" })] : []));
    this.element.setAttribute("aria-busy", String(isBusy));
  }

  showInterpreted({ interpretedAs, question }) {
    this.interpreted.hidden = interpretedAs === "" || interpretedAs === question;
    this.interpreted.textContent = `interpreted as: ${interpretedAs}`;
  }

  showHeld({ restrictions }) {
    this.restrictions = restrictions ?? null;
    clear(this.held).hidden = !restrictions;
    if (restrictions) {
      const chips = constraintChips(restrictions, (constraint) => this.actions.drop(constraint));
      const words = [...diets(restrictions), ...rankedBy(restrictions)].join(" · ");
      append(this.held, chips, words && el("span", { class: "muted small foreign" }, words));
    }
  }

  showNotices(notices, isError = false) {
    clear(this.notices).append(...notices.map((notice) => el("p", { class: "foreign", dir: "auto" }, notice)));
    this.notices.hidden = notices.length === 0;
    this.notices.classList.toggle("notice-error", isError);
    this.notices.classList.toggle("notice-warning", !isError);
  }

  showAnswer(answer) {
    this.answerBox.hidden = answer === "";
    clear(this.answerBox).append(...answer.split(/\n{2,}/).map((part) => el("p", { dir: "auto" }, part)));
  }

  /** Items that the ranker has kept so far: shown at once, until the list that counts comes. */
  addCandidates(items) {
    this.areProvisional = true;
    this._append(items, { provisional: true });
  }

  /** More of the list that counts. The first of it takes the provisional cards away. */
  addResults(items) {
    if (this.areProvisional) {
      this._clearList();
    }
    this._append(items, { provisional: false });
  }

  _clearList() {
    this.areProvisional = false;
    this.items = [];
    clear(this.list);
  }

  _append(items, { provisional }) {
    const options = { provisional, restrictions: this.restrictions };
    const isNumbered = WITH_MAP.has(this.kind) && !provisional;
    for (const item of items) {
      this.items.push(item);
      this.list.append(el("li", {}, renderCard(item, { ...options, number: isNumbered ? this.items.length : null })));
    }
  }

  /** What can be done with a list that is whole: order it, and see where its items are. */
  showTools(items) {
    const orders = sortings(items);
    append(clear(this.tools), orders.length > 0 && this._sorter(items, orders), this._map(items));
    this.tools.hidden = !this.tools.hasChildNodes();
  }

  /** Closed at first: it comes when the list is whole, and cards that are being read must not move down. */
  _map(items) {
    const sketch = WITH_MAP.has(this.kind) ? this._sketch(items) : null;
    return sketch && el("details", { class: "turn-map" }, el("summary", {}, "Where they are"), sketch);
  }

  _sorter(items, orders) {
    const choices = [{ id: "", label: "As answered" }, ...orders].map(({ id, label }) => el("option", { value: id }, label));
    const select = el("select", { class: "select" }, choices);
    select.addEventListener("change", () => {
      const order = orders.find(({ id }) => id === select.value);
      this._reorder(order ? [...items].sort(order.compare) : items);
    });
    return el("label", { class: "turn-sort row" }, el("span", { class: "label" }, "Order"), select);
  }

  _reorder(items) {
    this._clearList();
    this._append(items, { provisional: false });
    this.tools.querySelector(".turn-map > :not(summary)")?.replaceWith(this._sketch(items));
  }

  _sketch(items) {
    return mapSketch(items, { onPick: (place) => this._go(place) });
  }

  /** To the card of a point on the map. */
  _go(place) {
    const row = this.list.children[place];
    row?.scrollIntoView({ block: "nearest" });
    row?.querySelector("a, summary, button")?.focus();
  }

  /** Buttons under what is said: [{label, act, isOff}]. */
  offer(offers) {
    clear(this.offers).append(
      ...offers.map(({ label, act, isOff = false }) =>
        el("button", { type: "button", class: "button", disabled: isOff, onclick: act }, label),
      ),
    );
    this.offers.hidden = offers.length === 0;
  }

  /** A stored turn, whole. */
  show(record) {
    this.reset();
    this.showQuestion(record.question);
    this.showInterpreted(record);
    this.showHeld(record);
    this.showAnswer(record.answer);
    this.addResults(record.results);
    this.finish(record);
  }

  /** A turn that is over: what it showed stays as it is, but for cards that were provisional. */
  finish(record) {
    if (this.areProvisional) {
      this.addResults(record.results);
    }
    this.showNotices(record.notices, record.ending === "failed" || record.ending === "broken");
    this.showTools(record.results);
    this.showStatus(statusOf(record));
  }
}

const rankedBy = ({ ranking_model: id }) => (typeof id === "string" && id ? [`ranked by ${modelLabel(id)}`] : []);

/** Diets that no condition says already. */
function diets({ restrictions, constraints }) {
  const values = (Array.isArray(constraints) ? constraints : []).map((constraint) => constraint?.value);
  const others = (Array.isArray(restrictions) ? restrictions : []).filter((diet) => !values.includes(diet));
  return others.length ? [`diet: ${others.map(String).join(", ")}`] : [];
}

function iconButton(sign, act) {
  const attributes = { type: "button", class: "icon-button turn-remove", onclick: act };
  return el("button", attributes, el("span", { "aria-hidden": "true" }, sign));
}

/** "10 results · 12,345 tokens · $0.0041", or how else a turn ended. */
export function statusOf(record) {
  const count = record.results.length;
  const words = {
    failed: ["Search failed"],
    broken: ["The answer broke off", count ? plural(count, "result") : ""],
    stopped: ["Stopped", plural(count, "possible result")],
  }[record.ending] ?? [plural(count, "result")];
  return [...words, spent(record.usage)].filter(Boolean).join(" · ");
}
