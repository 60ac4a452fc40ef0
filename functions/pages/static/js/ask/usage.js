// What questions cost: the button in the top bar, and the dialog behind it.

import { clear, el } from "../dom.js";
import { cost, number, plural } from "../format.js";
import { testedBy } from "./samples.js";

const figure = (value) => (typeof value === "number" && Number.isFinite(value) ? value : 0);

/** "12,345 tokens · $0.0041": what stands behind a turn's number of results. */
export function spent(usage) {
  return usage ? `${plural(figure(usage.total_tokens), "token")} · ${priced(usage)}` : "";
}

/** A cost, with a star where some calls had no price. */
const priced = (usage) => `${cost(figure(usage?.cost))}${figure(usage?.unpriced_calls) ? "*" : ""}`;

function total(records) {
  const usages = records.map((record) => record.usage).filter(Boolean);
  const sum = (name) => usages.reduce((all, usage) => all + figure(usage[name]), 0);
  return { cost: sum("cost"), unpriced_calls: sum("unpriced_calls"), total_tokens: sum("total_tokens") };
}

export class UsageDialog {
  constructor(kind) {
    this.kind = kind;
    this.button = document.getElementById("usage-open");
    this.dialog = document.getElementById("usage-dialog");
    this.button.addEventListener("click", () => this.dialog.showModal());
    document.getElementById("usage-close").addEventListener("click", () => this.dialog.close());
    closesOnBackdrop(this.dialog);
  }

  /** Show what these turns cost; nothing where none of them has a usage. */
  show(records) {
    const last = records.findLast((record) => record.usage);
    this.button.hidden = !last;
    if (!last) {
      return;
    }
    const whole = total(records);
    const words = `last query ${priced(last.usage)} · conversation ${priced(whole)}`;
    document.getElementById("usage-open-total").textContent = words;
    document.getElementById("usage-total").textContent =
      `This question: ${spent(last.usage)}. This conversation: ${spent(whole)}.`;
    this._note(last.question);
    this._rows(last.usage);
  }

  hide() {
    this.button.hidden = true;
  }

  _note(question) {
    const tests = testedBy(this.kind, question);
    document.getElementById("usage-note").hidden = tests === "";
    document.getElementById("usage-note-text").textContent = tests;
  }

  _rows(usage) {
    const models = Array.isArray(usage.models) ? usage.models.filter((each) => each && typeof each === "object") : [];
    clear(document.getElementById("usage-rows")).append(...models.map(row));
  }
}

function row(model) {
  const phases = model.phases && typeof model.phases === "object" ? Object.keys(model.phases) : [];
  const named = Array.isArray(model.phases) ? model.phases.map(String) : phases;
  return el(
    "tr",
    {},
    el("th", { scope: "row", class: "foreign" }, String(model.model ?? ""), phasesOf(named)),
    ...["calls", "prompt_tokens", "completion_tokens", "total_tokens"].map((name) =>
      el("td", { class: "number" }, number(figure(model[name]))),
    ),
    el("td", { class: "number" }, priced(model)),
  );
}

const phasesOf = (names) => el("small", { class: "usage-phases" }, names.join(", ").replaceAll("_", " "));

/** A click beside a dialog's content closes it, as Esc does. */
export function closesOnBackdrop(dialog) {
  dialog.addEventListener("click", (event) => {
    const box = dialog.getBoundingClientRect();
    const isInside =
      event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
    // Keys that press a button make a click at 0, 0: only one on the dialog itself is beside its content.
    if (event.target === dialog && !isInside) {
      dialog.close();
    }
  });
}
