// A network drawn on its map: streets in grey, the policy's route broad and blue, the planner's dashed and orange.

import { h, put, s } from "./dom.js";

const LETTER = 6.6;
const MARGIN = 30;
const NAMED = 60;

/** Node names are strings or numbers or lists: one text a node to look it up by. */
export const keyOf = (id) => JSON.stringify(id);

/** Positions on the page: the same scale both ways unless that would be a very flat or tall map. */
function placed(nodes, width, tallest) {
  const xs = nodes.map((node) => node.x);
  const ys = nodes.map((node) => node.y);
  const wide = Math.max(...xs) - Math.min(...xs) || 1;
  const tall = Math.max(...ys) - Math.min(...ys) || 1;
  let across = (width - 2 * MARGIN) / wide;
  const inner = Math.min(Math.max(tall * across, 240), tallest - 2 * MARGIN);
  const along = inner / tall;
  if (tall * across > inner) across = Math.min(across, along * 1.35);
  const shift = (width - wide * across) / 2;
  const place = new Map(nodes.map((node) => [keyOf(node.id), [
    shift + (node.x - Math.min(...xs)) * across, MARGIN + (Math.max(...ys) - node.y) * along]]));
  return { place, height: inner + 2 * MARGIN };
}

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

/** The nodes of a route as pairs of neighbours. */
export const hops = (route) => route.slice(1).map((node, i) => [route[i], node]);

/**
 * The map of one network.
 *
 * `show({decision, alternative, then, offered, drawing})` draws routes (lists of nodes); while drawing, `offered` maps the
 * nodes that can come next to what a screen reader says of them, and `onpick(id)` is called with the one chosen.
 */
export function networkMap(network, { onpick, onback }) {
  const node = h("div", { class: "map" });
  let width = 0;
  let shown = { decision: [], alternative: [], then: [], offered: new Map(), drawing: false };

  function line(route, place) {
    return hops(route).map(([u, v]) => [place.get(keyOf(u)), place.get(keyOf(v))])
      .filter(([a, b]) => a && b).map(([a, b]) => `M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}`).join("");
  }

  function labels(place, height, visited, ends) {
    const taken = [...place.values()].map((point) => around(point, 5));
    const routes = [shown.decision, shown.alternative, shown.then].flatMap(hops);
    const lines = routes.flatMap(([u, v]) => {
      const [a, b] = [place.get(keyOf(u)), place.get(keyOf(v))];
      return a && b ? along(a, b).map((point) => around(point, 3)) : [];
    });
    const rank = (item) => (ends.has(keyOf(item.id)) ? 0 : visited.has(keyOf(item.id)) ? 1 : shown.offered.has(keyOf(item.id)) ? 1 : 2);
    const named = network.nodes.filter((item) => rank(item) < 2 || network.nodes.length <= NAMED);
    const drawn = [];
    for (const item of [...named].sort((a, b) => rank(a) - rank(b))) {
      const text = String(item.label ?? item.id);
      const boxes = spots(place.get(keyOf(item.id)), LETTER * text.length + (rank(item) ? 0 : 6));
      const inside = boxes.filter((box) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height);
      const free = inside.filter((box) => !taken.some((other) => overlap(box, other)));
      const best = free.find((box) => !lines.some((other) => overlap(box, other))) ?? (rank(item) < 2 ? free[0] : undefined);
      const box = best ?? (rank(item) ? undefined : inside[0] ?? boxes[0]);
      if (!box) continue;
      taken.push(box);
      drawn.push(s("text", { x: Math.max(box[0], 0), y: box[3] - 4, class: `label rank${rank(item)}`, "aria-hidden": "true", text }));
    }
    return drawn;
  }

  function pickable(item, [x, y], text) {
    const act = () => onpick(item.id);
    return s("g", { class: text ? "stop offered" : "stop", transform: `translate(${x} ${y})`, "data-node": keyOf(item.id),
      ...(text ? { tabindex: 0, role: "button", "aria-label": text } : {}),
      onclick: act,
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); }
        if (event.key === "Backspace") { event.preventDefault(); onback(); }
      } },
    s("circle", { r: 17, class: "hit" }), s("circle", { r: text ? 8 : 5, class: "dot" }));
  }

  function draw() {
    if (!width) return;
    const { place, height } = placed(network.nodes, width, Math.min(440, Math.max(300, width * 0.86)));
    const ends = new Set([keyOf(network.source), keyOf(network.target)]);
    const visited = new Set([...shown.decision, ...shown.alternative, ...shown.then].map(keyOf));
    const streets = network.edges.map((edge) => line([edge.from, edge.to], place)).join("");
    const dots = network.nodes.map((item) => {
      const [x, y] = place.get(keyOf(item.id));
      const end = ends.has(keyOf(item.id));
      return s("circle", { cx: x, cy: y, r: end ? 7 : visited.has(keyOf(item.id)) ? 4.5 : 3.2, class: end ? "end" : "node" });
    });
    const picks = shown.drawing
      ? network.nodes.filter((item) => !shown.alternative.some((id) => keyOf(id) === keyOf(item.id)))
        .sort((a, b) => Number(shown.offered.has(keyOf(b.id))) - Number(shown.offered.has(keyOf(a.id))))
        .map((item) => pickable(item, place.get(keyOf(item.id)), shown.offered.get(keyOf(item.id))))
      : [];
    const said = shown.title ?? "Map of the network with both routes";
    put(node, s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: shown.drawing ? "group" : "img", "aria-label": said,
      class: shown.drawing ? "drawing" : "" },
    s("path", { d: streets, class: "street" }),
    s("path", { d: line(shown.decision, place), class: "route d" }),
    s("path", { d: line(shown.then, place), class: "route t" }),
    s("path", { d: line(shown.alternative, place), class: "route a" }),
    dots, labels(place, height, visited, ends), picks));
  }

  new ResizeObserver(() => {
    const now = Math.floor(node.clientWidth);
    if (now && now !== width) { width = now; draw(); }
  }).observe(node);

  return {
    node,
    show(next) { shown = { ...shown, ...next }; draw(); },
    /** Put the focus on the first node that can come next. */
    focus() { node.querySelector(".offered")?.focus(); },
  };
}
