// Two questions to the reader, each a modal dialog of the browser's own.

import { closesOnBackdrop } from "./usage.js";

/** Resolve to whether the reader agreed. */
export function confirmed(title, words, label) {
  const dialog = document.getElementById("confirm-dialog");
  document.getElementById("confirm-title").textContent = title;
  document.getElementById("confirm-text").textContent = words;
  document.getElementById("confirm-yes").textContent = label;
  return answered(dialog).then((answer) => answer === "yes");
}

/** Resolve to a new title, or to "" where the reader keeps the old one. */
export function newTitle(title) {
  const dialog = document.getElementById("rename-dialog");
  const box = document.getElementById("rename-title");
  box.value = title;
  const answer = answered(dialog);
  box.select();
  return answer.then((said) => (said === "yes" ? box.value.replace(/\s+/g, " ").trim() : ""));
}

function answered(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }));
}

/** Make both close by a click beside them. */
export function prepareDialogs() {
  for (const id of ["confirm-dialog", "rename-dialog"]) {
    closesOnBackdrop(document.getElementById(id));
  }
}
