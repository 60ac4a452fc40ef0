// Asking a site: one POST, its stream, and what to do where there is none.

import { retryAfterOf } from "../api.js";
import { messages } from "./stream.js";

// A service that was asleep took 27 to 30 s to start; one that is not there after this is not starting.
const PATIENCE_S = 120;
const USUAL_WAIT_S = 3;
const LONGEST_WAIT_S = 30;

/** Why there is no stream. `retryAfter` is in seconds, null where nobody said when to ask again. */
export class AskFailed extends Error {
  constructor(message, { status = 0, retryAfter = null, requestId = "" } = {}) {
    super(message);
    this.name = "AskFailed";
    this.status = status;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
  }
}

/**
 * Yield a stream's messages. A service that is starting is asked again when it says so, and `onWait(seconds)` is told
 * of each second of the wait. Throws AskFailed where no stream came, what `fetch` throws where one broke off, and an
 * AbortError once `signal` says stop.
 */
export async function* ask(address, body, { signal, onWait, unread }) {
  const reply = await streamOf(address, body, signal, onWait);
  yield* messages(reply.body, unread);
}

async function streamOf(address, body, signal, onWait) {
  for (let waited = 0; ; ) {
    const reply = await posted(address, body, signal);
    if (reply.ok) {
      return reply;
    }
    const said = await bodyOf(reply);
    const seconds = Math.min(Math.max(retryAfterOf(reply, said) ?? USUAL_WAIT_S, 1), LONGEST_WAIT_S);
    if (!isStarting(reply, said) || waited + seconds > PATIENCE_S) {
      throw refusal(reply, said);
    }
    await countdown(seconds, signal, onWait);
    waited += seconds;
  }
}

async function posted(address, body, signal) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  try {
    return await fetch(address, { method: "POST", headers, body: JSON.stringify(body), credentials: "omit", signal });
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new AskFailed("The service could not be reached.");
  }
}

async function bodyOf(reply) {
  try {
    return (await reply.json()) ?? {};
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    return {};
  }
}

const isStarting = (reply, said) =>
  reply.status === 503 && (said.code === "starting" || said.status === "starting" || said.error === "Service is starting");

function refusal(reply, said) {
  const sentence = [said.error, said.message].find((text) => typeof text === "string" && text);
  const detail = typeof said.detail === "string" && said.detail !== sentence ? said.detail : "";
  return new AskFailed([sentence ?? `Search HTTP ${reply.status}`, detail].filter(Boolean).join(": "), {
    status: reply.status,
    retryAfter: retryAfterOf(reply, said),
    requestId: typeof said.requestId === "string" ? said.requestId : "",
  });
}

/** Wait so many seconds, telling `onTick` how many are left at each; an abort ends the wait by throwing. */
export function countdown(seconds, signal, onTick) {
  const end = Date.now() + seconds * 1000;
  return new Promise((resolve, reject) => {
    const left = () => Math.ceil((end - Date.now()) / 1000);
    const timer = setInterval(() => (left() > 0 ? onTick?.(left()) : finish(resolve)), 250);
    const stop = () => finish(() => reject(signal.reason ?? new DOMException("Stopped", "AbortError")));
    const finish = (settle) => {
      clearInterval(timer);
      signal?.removeEventListener("abort", stop);
      settle();
    };
    if (signal?.aborted) {
      stop();
      return;
    }
    signal?.addEventListener("abort", stop);
    onTick?.(seconds);
  });
}
