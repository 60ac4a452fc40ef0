// Waiting for a moment, seen second by second.

/**
 * Call `onSecond(left)` now and each second, then `onEnd()` once. Returns a function that stops it. The clock is asked
 * each time, so that a page that slept in the background does not wait on.
 */
export function countdown(seconds, onSecond, onEnd) {
  const until = Date.now() + seconds * 1000;
  let timer = 0;
  const tick = () => {
    const left = Math.ceil((until - Date.now()) / 1000);
    if (left <= 0) {
      onEnd();
      return;
    }
    onSecond(left);
    timer = setTimeout(tick, 1000);
  };
  tick();
  return () => clearTimeout(timer);
}
