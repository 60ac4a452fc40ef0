// The keyboard: "/" goes to the question, Escape ends or clears, arrows walk through the results.

const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable]";

/** Listen for the page's keys. `results` holds links of the class `result-title`; `onStop` says whether it ended anything. */
export function listenToKeys({ box, results, onStop }) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !event.target.closest?.(TYPING)) focusBox(event, box);
    else if (event.key === "Escape") escape(event, box, onStop);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") walk(event, box, results);
  });
}

function focusBox(event, box) {
  event.preventDefault();
  box.focus();
  box.select();
}

function escape(event, box, onStop) {
  if (onStop() || event.target !== box) return;
  event.preventDefault();
  box.value = "";
}

function walk(event, box, results) {
  const titles = [...results.querySelectorAll(".result-title")];
  const at = titles.indexOf(document.activeElement);
  const fromBox = document.activeElement === box && event.key === "ArrowDown";
  if (at < 0 && !fromBox) return;
  const next = fromBox ? titles[0] : titles[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next && event.key === "ArrowDown") return;
  event.preventDefault();
  (next ?? box).focus();
}
