// The sidebar: a column that folds away where there is room, a drawer over the page where there is not.

import { remember, remembered } from "./models.js";

const REMEMBERED = "ask-samples:sidebar";
const NARROW = "(max-width: 760px)";

export class Drawer {
  constructor() {
    this.bar = document.getElementById("sidebar");
    this.rest = [document.getElementById("column"), document.querySelector(".skip-link")];
    this.toggle = document.getElementById("toggle-sidebar");
    this.veil = document.getElementById("veil");
    this.narrow = matchMedia(NARROW);
    this.toggle.addEventListener("click", () => this.set(!this.isOpen));
    document.getElementById("close-sidebar").addEventListener("click", () => this.set(false));
    this.veil.addEventListener("click", () => this.set(false));
    document.addEventListener("keydown", (event) => this._key(event));
    this.narrow.addEventListener("change", () => this._fit());
    this._fit();
  }

  /** A drawer covers the page: it begins closed, and whether it was open is not worth remembering. */
  _fit() {
    this._moveOptions();
    this._show(!this.narrow.matches && remembered(REMEMBERED) === "open");
  }

  set(isOpen) {
    this._show(isOpen);
    if (!this.narrow.matches) {
      remember(REMEMBERED, isOpen ? "open" : "closed");
    } else if (isOpen) {
      document.getElementById("close-sidebar").focus();
    } else {
      this.toggle.focus();
    }
  }

  /** Whatever was picked in a drawer, the page behind it is what the reader wants to see. */
  closeIfOver() {
    if (this.narrow.matches && this.isOpen) {
      this.set(false);
    }
  }

  _show(isOpen) {
    this.isOpen = isOpen;
    const isOver = isOpen && this.narrow.matches;
    document.body.classList.toggle("has-sidebar", isOpen);
    // What is folded away or covered can be neither reached nor read: in a drawer the focus stays.
    this.bar.inert = !isOpen;
    for (const part of this.rest) {
      part.inert = isOver;
    }
    this.veil.hidden = !isOver;
    const words = isOpen ? "Hide conversations" : "Show conversations";
    this.toggle.setAttribute("aria-expanded", String(isOpen));
    this.toggle.setAttribute("aria-label", words);
    this.toggle.title = words;
  }

  _key(event) {
    if (event.key === "Escape" && this.isOpen && this.narrow.matches && !document.querySelector("dialog[open]")) {
      this.set(false);
    }
  }

  /** Mode, model and "How it works" stand in the top bar where it has room, else in the drawer. */
  _moveOptions() {
    const place = document.getElementById(this.narrow.matches ? "drawer-options" : "bar-options");
    place.append(...document.querySelectorAll(".option"));
  }
}
