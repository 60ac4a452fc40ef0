/** Keeps the numbers of a map apart: those that would lie upon each other move, as little as is needed. */

const ROUNDS = 60;
const GAP = 2;

/** The pins with `shownX` and `shownY`, where their numbers go: apart from each other and inside the sheet. */
export function spread(pins, { radius, width, height }) {
  // Two pins of one place have no direction to part in: each starts a hair off, round the circle by its index.
  const shown = pins.map(({ x, y }, index) => ({
    x: x + 0.5 * Math.cos(index * 2.4),
    y: y + 0.5 * Math.sin(index * 2.4),
  }));
  for (let round = 0; round < ROUNDS && part(shown, 2 * radius + GAP); round += 1) {
    shown.forEach((pin) => keepInside(pin, radius + 1, width, height));
  }
  return pins.map((pin, index) => ({ ...pin, shownX: rounded(shown[index].x), shownY: rounded(shown[index].y) }));
}

function part(shown, least) {
  let hasMoved = false;
  for (let one = 0; one < shown.length; one += 1) {
    for (let other = one + 1; other < shown.length; other += 1) {
      hasMoved = partTwo(shown[one], shown[other], least) || hasMoved;
    }
  }
  return hasMoved;
}

function partTwo(one, other, least) {
  const [dx, dy] = [other.x - one.x, other.y - one.y];
  const distance = Math.hypot(dx, dy);
  if (distance >= least - 0.01) {
    return false;
  }
  const push = (least - distance) / 2 / Math.max(distance, 1e-6);
  one.x -= dx * push;
  one.y -= dy * push;
  other.x += dx * push;
  other.y += dy * push;
  return true;
}

function keepInside(pin, margin, width, height) {
  pin.x = Math.min(width - margin, Math.max(margin, pin.x));
  pin.y = Math.min(height - margin, Math.max(margin, pin.y));
}

function rounded(value) {
  return Math.round(value * 10) / 10;
}
