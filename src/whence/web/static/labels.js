// Names on a map: the important ones first, each where it hides nothing, the others as soon as there is room for them.

import { s } from "./dom.js";

const LETTER = 6.6;
/** With more places than this in sight, only those that matter are named. */
const NAMED = 60;

const around = ([x, y], r) => [x - r, y - r, x + r, y + r];
const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

function spots([x, y], wide) {
  const bases = [[x + 11, y + 4], [x - 11 - wide, y + 4], [x - wide / 2, y - 12], [x - wide / 2, y + 21],
    [x + 8, y - 9], [x + 8, y + 17], [x - 8 - wide, y - 9], [x - 8 - wide, y + 17]];
  return bases.map(([left, base]) => [left, base - 11, left + wide, base + 4]);
}

function along([x0, y0], [x1, y1]) {
  const steps = Math.max(Math.floor(Math.hypot(x1 - x0, y1 - y0) / 7), 1);
  return Array.from({ length: steps - 1 }, (_, k) => [x0 + ((x1 - x0) * (k + 1)) / steps, y0 + ((y1 - y0) * (k + 1)) / steps]);
}

/**
 * Texts for `places` ({key, text, at, rank}; rank 0 is always named, 1 if at all possible, 2 where nothing is in the way);
 * `lines` are pairs of points that names should rather not cover.
 */
export function namesOf(places, lines, { width, height }) {
  const taken = places.map(({ at }) => around(at, 5));
  const covered = lines.flatMap(([a, b]) => along(a, b)).filter(([x, y]) => x > 0 && y > 0 && x < width && y < height).map((point) => around(point, 3));
  const named = places.filter(({ rank }) => rank < 2 || places.length <= NAMED).sort((a, b) => a.rank - b.rank);
  const drawn = [];
  for (const { key, text, at, rank } of named) {
    const boxes = spots(at, LETTER * text.length + (rank ? 0 : 6));
    const inside = boxes.filter((box) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height);
    const free = inside.filter((box) => !taken.some((other) => overlap(box, other)));
    const best = free.find((box) => !covered.some((other) => overlap(box, other))) ?? (rank < 2 ? free[0] : undefined);
    const box = best ?? (rank ? undefined : inside[0] ?? boxes[0]);
    if (!box) continue;
    taken.push(box);
    drawn.push(s("text", { x: Math.max(box[0], 0), y: box[3] - 4, class: `label rank${rank}`, "aria-hidden": "true", "data-named": key, text }));
  }
  return drawn;
}
