// What a failed request means to who asked, by the codes of docs/errors.md.
import { record, text } from "./shape.js";

const HEADINGS = {
  unknown_name: "A filter names what is not there",
  invalid_request: "The question was not accepted",
  not_found: "Not found",
  payload_too_large: "The question is too long",
  quota_exceeded: "The searches of today are used up",
  busy: "Too many searches at once",
  starting: "The service is starting",
  stopping: "The service is about to stop",
  embedding_failed: "The question could not be read by its model",
  relevance_scoring_failed: "The candidates could not be judged",
  budget_exhausted: "What may be spent on models today is spent",
  query_cancelled: "The search took too long",
};
const PASSING = new Set(["starting", "stopping", "busy"]);
const UNJUDGED_HELPS = new Set(["relevance_scoring_failed", "budget_exhausted"]);
const SHORTEST_WAIT_S = 2;

/**
 * A reply of fetchJson that is no success, as `{heading, message, code, id, waitS, passing, unjudgedHelps}`.
 * `passing` failures are worth another try by itself after `waitS`, which is null where nobody said how long.
 */
export function readFailure(reply) {
  const body = record(reply.body);
  const code = text(body.code);
  const passing = PASSING.has(code);
  return {
    heading: headingOf(reply.status, code),
    message: reply.error || "The answer could not be read",
    code,
    id: text(body.requestId),
    waitS: passing ? Math.max(reply.retryAfter ?? 0, SHORTEST_WAIT_S) : reply.retryAfter,
    passing,
    unjudgedHelps: UNJUDGED_HELPS.has(code),
  };
}

function headingOf(status, code) {
  if (Object.hasOwn(HEADINGS, code)) return HEADINGS[code];
  if (status === 0) return "No answer";
  if (status === 429) return "Too many searches";
  return status >= 500 ? "The service failed" : "That did not work";
}
