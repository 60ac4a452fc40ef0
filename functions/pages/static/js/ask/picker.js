// How a question is answered: the mode, and the model that ranks.

import { el } from "../dom.js";
import { isModel, MODELS, MODES, rememberedModel, rememberModel } from "./models.js";

export class Picker {
  constructor() {
    this.mode = document.getElementById("mode");
    this.model = document.getElementById("model");
    this.model.append(...MODELS.map(({ id, label }) => el("option", { value: id }, label)));
    this.model.value = rememberedModel();
    this.model.addEventListener("change", () => rememberModel(this.model.value));
  }

  choice() {
    return { mode: this.mode.value, model: this.model.value };
  }

  /** As a link wants it, for this visit; what is remembered stays. */
  set({ mode, model }) {
    this.mode.value = MODES.includes(mode) ? mode : this.mode.value;
    this.model.value = isModel(model) ? model : this.model.value;
  }
}
