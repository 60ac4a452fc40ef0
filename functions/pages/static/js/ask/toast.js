// A message that passes, with one thing to do about it.

import { announce } from "../dom.js";

const SHOWN_MS = 10_000;

/** The strip at the foot of the page: one message at a time, for ten seconds, longer while it is pointed at. */
export class Toast {
  constructor() {
    this.strip = document.getElementById("toast");
    this.text = document.getElementById("toast-text");
    this.action = document.getElementById("toast-action");
    this._timer = 0;
    this._act = null;
    this.action.addEventListener("click", () => this._use());
    document.getElementById("toast-close").addEventListener("click", () => this.hide());
    for (const event of ["pointerenter", "focusin"]) {
      this.strip.addEventListener(event, () => this._hold());
    }
    for (const event of ["pointerleave", "focusout"]) {
      this.strip.addEventListener(event, () => this._start());
    }
    document.addEventListener("keydown", (event) => this._key(event));
  }

  /** Say something; `act` is what its button does. */
  show(text, label, act) {
    this._act = act;
    this.text.textContent = text;
    this.action.textContent = label;
    this.action.hidden = !act;
    this.strip.hidden = false;
    announce(act ? `${text} ${label}: Control Z.` : text);
    this._start();
  }

  hide() {
    this._hold();
    this._act = null;
    this.strip.hidden = true;
  }

  _use() {
    const act = this._act;
    this.hide();
    act?.();
  }

  /** Undo by its usual keys, except where they undo typing. */
  _key(event) {
    const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    const isTyping = event.target instanceof Element && event.target.matches("input, textarea") && event.target.value !== "";
    if (isUndo && this._act && !isTyping) {
      event.preventDefault();
      this._use();
    }
  }

  _start() {
    this._hold();
    if (!this.strip.hidden) {
      this._timer = setTimeout(() => this.hide(), SHOWN_MS);
    }
  }

  _hold() {
    clearTimeout(this._timer);
  }
}
