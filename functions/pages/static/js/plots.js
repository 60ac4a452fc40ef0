/**
 * Small plots as SVG: attributes only, no inline style, colours from the style sheet's five series.
 * A plot is never the only place of a number, so it is one picture to those who listen, with a sentence as its name.
 */

import { svg } from "./dom.js";

const WIDTH = 640;
const HEIGHT = 220;
const MARGIN = { top: 10, right: 8, bottom: 24, left: 52 };
const TICKS = 4;
const MOST_LABELS = 8;

/**
 * Bars, one a label, the series upon each other.
 *
 * `labels` are as short as their axis; `series` is [{name, values}] with a number (or null) a label; `format` says a
 * value of the axis; `title` is what the picture shows, in one sentence; with `whole` the axis has whole numbers.
 */
export function bars({ labels, series, format, title, whole }) {
  const sums = labels.map((_, place) => series.reduce((sum, each) => sum + positive(each.values[place]), 0));
  const frame = framed({ labels, most: Math.max(...sums, 0), format, title, whole });
  const wide = Math.max(1, Math.min(48, frame.slot * 0.7));
  labels.forEach((label, place) => {
    let below = 0;
    series.forEach((each, which) => {
      const value = positive(each.values[place]);
      if (value > 0) {
        const top = frame.y(below + value);
        const box = { x: round(frame.x(place) - wide / 2), width: round(wide), y: round(top), height: round(frame.y(below) - top) };
        frame.root.append(svg("rect", { class: `bar series-${(which % 5) + 1}`, ...box }, hint(label, each, value, format)));
        below += value;
      }
    });
  });
  return frame.root;
}

/** Lines over the same labels; a null in a series is a gap in its line. The rest is as with bars. */
export function lines({ labels, series, format, title, most }) {
  const all = series.flatMap((each) => each.values.map(positive));
  const frame = framed({ labels, most: most ?? Math.max(...all, 0), format, title });
  series.forEach((each, which) => {
    const style = `series-${(which % 5) + 1}`;
    for (const run of runs(each.values)) {
      const points = run.map(([place, value]) => `${round(frame.x(place))},${round(frame.y(value))}`);
      frame.root.append(svg("polyline", { class: `curve ${style}`, points: points.join(" ") }));
      for (const [place, value] of run) {
        const dot = { class: style, cx: round(frame.x(place)), cy: round(frame.y(value)), r: 3 };
        frame.root.append(svg("circle", dot, hint(labels[place], each, value, format)));
      }
    }
  });
  return frame.root;
}

/** The round number at or above one that is above 0: 1, 2 or 5 times a power of ten. */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value * 0.999999);
}

function framed({ labels, most, format, title, whole }) {
  const root = svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  const step = most > 0 ? roundUp(most / TICKS) : 1 / TICKS;
  const top = TICKS * (whole ? Math.max(1, step) : step);
  const inner = { width: WIDTH - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const slot = inner.width / Math.max(1, labels.length);
  const x = (place) => MARGIN.left + slot * (place + 0.5);
  const y = (value) => MARGIN.top + inner.height * (1 - value / top);
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const value = (top * tick) / TICKS;
    const line = { class: tick ? "grid" : "axis", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: round(y(value)), y2: round(y(value)) };
    root.append(svg("line", line));
    root.append(svg("text", { x: MARGIN.left - 6, y: round(y(value)) + 4, "text-anchor": "end" }, format(value)));
  }
  const every = Math.ceil(labels.length / MOST_LABELS);
  labels.forEach((label, place) => {
    if (place % every === 0) {
      root.append(svg("text", { x: round(x(place)), y: HEIGHT - 6, "text-anchor": "middle" }, label));
    }
  });
  return { root, slot, x, y };
}

function hint(label, series, value, format) {
  return svg("title", null, `${label}, ${series.name}: ${format(value)}`);
}

function runs(values) {
  const found = [[]];
  values.forEach((value, place) => {
    if (typeof value === "number" && Number.isFinite(value)) {
      found.at(-1).push([place, positive(value)]);
    } else if (found.at(-1).length) {
      found.push([]);
    }
  });
  return found.filter((run) => run.length);
}

function positive(value) {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function round(value) {
  return Math.round(value * 10) / 10;
}
