// The ranking models that can be picked, and the one that was.

const REMEMBERED = "ask-samples:model";

export const MODELS = [
  { id: "typesafe/jev-1.14", label: "Jev 1.14" },
  { id: "openai/gpt-oss-20b", label: "GPT-OSS 20B" },
  { id: "openai/gpt-oss-120b", label: "GPT-OSS 120B" },
  { id: "google/gemma-4-26b-a4b-it", label: "Gemma 4 26B" },
  { id: "google/gemma-4-31b-it", label: "Gemma 4 31B" },
  { id: "google/gemini-2.5-flash-lite", label: "Gemini 2.5 Flash Lite" },
  { id: "google/gemini-3.1-flash-lite", label: "Gemini 3.1 Flash Lite" },
  { id: "google/gemini-3.5-flash-lite", label: "Gemini 3.5 Flash Lite" },
  { id: "google/gemini-3.8-flash", label: "Gemini 3.8 Flash" },
];

export const MODES = ["list", "summarize"];

export const isModel = (id) => MODELS.some((model) => model.id === id);

/** What people call a model; one that is not in the list goes by its id. */
export const modelLabel = (id) => MODELS.find((model) => model.id === id)?.label ?? String(id ?? "");

/** The model picked last, or "" for the server's own; an id that is no longer offered counts as that. */
export function rememberedModel() {
  const id = remembered(REMEMBERED) ?? "";
  return isModel(id) ? id : "";
}

export const rememberModel = (id) => remember(REMEMBERED, id);

/** A value of localStorage, or null where there is none or a browser forbids it. */
export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a value beyond this visit, where the browser allows it: nothing on the page depends on it. */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Private windows and full storage refuse; the choice then lasts as long as the page.
  }
}
