// The question box: its keys, its height, and whether it asks or stops.

export class Composer {
  /** `onAsk(text)` gets what was typed, `onStop()` the wish to stop. */
  constructor({ onAsk, onStop }) {
    this.form = document.getElementById("form");
    this.box = document.getElementById("query");
    this.askButton = document.getElementById("submit");
    this.stopButton = document.getElementById("stop");
    this.isBusy = false;
    this.onAsk = onAsk;
    this.onStop = onStop;
    this.form.addEventListener("submit", (event) => this._submit(event));
    this.box.addEventListener("keydown", (event) => this._key(event));
    this.box.addEventListener("input", () => this.fit());
    this.stopButton.addEventListener("click", () => onStop());
  }

  get text() {
    return this.box.value;
  }

  set text(value) {
    this.box.value = value;
    this.fit();
  }

  /** A phone's keyboard would cover what was asked for, so it comes up only where the reader taps. */
  focus() {
    if (!matchMedia("(pointer: coarse)").matches) {
      this.box.focus({ preventScroll: true });
    }
  }

  setBusy(isBusy) {
    const hadFocus = [this.askButton, this.stopButton].includes(document.activeElement);
    this.isBusy = isBusy;
    this.askButton.hidden = isBusy;
    this.stopButton.hidden = !isBusy;
    if (hadFocus) {
      (isBusy ? this.stopButton : this.askButton).focus();
    }
  }

  /** As high as its text, up to what the style sheet allows. */
  fit() {
    this.box.style.setProperty("height", "auto");
    if (this.box.value) {
      this.box.style.setProperty("height", `${this.box.scrollHeight + 2}px`);
    }
  }

  _key(event) {
    // While an input method composes, Enter chooses a word; Safari says so by the code 229 alone.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key === "Enter" && !event.shiftKey && !isComposing) {
      event.preventDefault();
      this.form.requestSubmit();
    } else if (event.key === "Escape" && this.isBusy && !isComposing) {
      this.onStop();
    }
  }

  _submit(event) {
    event.preventDefault();
    const text = this.text.trim();
    if (text && this.onAsk(text)) {
      this.text = "";
    }
  }
}
