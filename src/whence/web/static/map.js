// A network drawn on its map: streets in grey, the policy's route broad and blue, the planner's dashed and orange.

import { button, h, put, s } from "./dom.js";
import { namesOf } from "./labels.js";
import { gestures, Viewport, zoomAll, zoomIn, zoomOut } from "./viewport.js";

const MARGIN = 30;
/** Places nearer to each other than this are hard to tell apart, those farther apart are not; in pixels. */
const CROWDED = 24;
const ROOMY = 90;
/** Farther from every place than this, a click means none of them. */
const REACH = 48;
/** Farther from a street than this, a click does not mean it. */
const NARROW = 12;
const HOW = "Arrow keys move the map, plus and minus zoom, 0 shows all of it.";

/** Node names are strings or numbers or lists: one text a node to look it up by. */
export const keyOf = (id) => JSON.stringify(id);

/** The nodes of a route as pairs of neighbours. */
export const hops = (route) => route.slice(1).map((node, i) => [route[i], node]);

/** Positions on the page: the same scale both ways unless that would be a very flat or tall map. */
function placed(nodes, width, tallest) {
  const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const wide = right - left || 1;
  const tall = high - low || 1;
  let across = (width - 2 * MARGIN) / wide;
  const inner = Math.min(Math.max(tall * across, 240), tallest - 2 * MARGIN);
  const along = inner / tall;
  if (tall * across > inner) across = Math.min(across, along * 1.35);
  const shift = (width - wide * across) / 2;
  const place = new Map(nodes.map((node) => [keyOf(node.id), [shift + (node.x - left) * across, MARGIN + (high - node.y) * along]]));
  return { place, height: inner + 2 * MARGIN };
}

/** How far a place is from the one next to it, for the most crowded places. */
function spacing(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0]);
  const least = sorted.map(([x, y], i) => {
    let best = Infinity;
    for (let j = i + 1; j < sorted.length && sorted[j][0] - x < best; j += 1) best = Math.min(best, Math.hypot(sorted[j][0] - x, sorted[j][1] - y) || Infinity);
    return best;
  }).filter(Number.isFinite).sort((a, b) => a - b);
  return least[Math.floor(least.length / 50)] ?? ROOMY;
}

/** How far a point is from the line between two others. */
function toLine([x, y], [x0, y0], [x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const t = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
}

const path = (pairs) => pairs.map(([a, b]) => `M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}`).join("");

/**
 * The map of one network.
 *
 * `show({decision, alternative, then, offered, drawing})` draws routes (lists of nodes); while drawing, `offered` maps the
 * nodes that can come next to what a screen reader says of them. `onpick(id)` is called with the place that was clicked:
 * whichever is nearest. While not drawing, `onmark({place})` or `onmark({edge})` is called with what was clicked, `onmark()`
 * where that is nothing; `wished` and `shunned` ({places, pairs}) are marked.
 */
export function networkMap(network, { onpick, onback, onmark }) {
  const view = new Viewport();
  const svg = s("svg", {});
  const near = s("g", { class: "near", "aria-hidden": "true" });
  const picked = s("path", { class: "street picked", d: "" });
  const larger = button("+", () => { zoomIn(view); draw(); }, { class: "button square", label: "Zoom in" });
  const smaller = button("−", () => { zoomOut(view); draw(); }, { class: "button square", label: "Zoom out" });
  const whole = button("", () => { zoomAll(view); draw(); }, { icon: "whole", class: "button square", label: "Show the whole map" });
  const frame = h("div", { class: "map-frame", tabindex: 0, role: "group", "aria-label": "Map", "aria-description": HOW }, svg);
  const tools = h("div", { class: "map-tools", role: "group", "aria-label": "Zoom" }, smaller, larger, whole);
  const node = h("div", { class: "map" }, frame);
  const items = new Map(network.nodes.map((item) => [keyOf(item.id), item]));
  let shown = { decision: [], alternative: [], then: [], offered: new Map(), drawing: false, wished: { places: [], pairs: [] }, shunned: { places: [], pairs: [] } };
  let home = new Map();
  let crowd = ROOMY;
  let marked = null;
  let street = null;

  const seen = (id) => { const point = home.get(keyOf(id)); return point && view.seen(point); };
  const textOf = (item) => String(item.label ?? item.id);

  /** The place nearest to a point of the window, if any is near. */
  function nearest([x, y]) {
    let best = null;
    let least = REACH;
    for (const [key, point] of home) {
      const [u, v] = view.seen(point);
      const distance = Math.hypot(u - x, v - y);
      if (distance < least) { least = distance; best = items.get(key); }
    }
    return best;
  }

  /** The street at a point of the window, unless it is at a place: streets end there. */
  function streetAt(point) {
    const place = nearest(point);
    const [px, py] = place ? seen(place.id) : [Infinity, Infinity];
    if (Math.hypot(px - point[0], py - point[1]) < Math.min(NARROW, 0.3 * crowd * view.k)) return null;
    let least = NARROW;
    let best = null;
    for (const edge of network.edges) {
      const [a, b] = [seen(edge.from), seen(edge.to)];
      const far = a && b ? toLine(point, a, b) : Infinity;
      if (far < least) { least = far; best = edge; }
    }
    return best;
  }

  /** The whole street that an edge is a part of, as pairs of places. */
  const along = (edge) => network.edges.filter((other) => (edge.name ? other.name === edge.name
    : [edge.from, edge.to].every((end) => [keyOf(other.from), keyOf(other.to)].includes(keyOf(end))))).map(({ from, to }) => [from, to]);

  /** Show which street was clicked. */
  function pick() {
    picked.setAttribute("d", street ? path(lines(along(street))) : "");
  }

  /** A ring and the name at a place: the one under the mouse, or the one that was looked for. */
  function ring(item) {
    const at = item && seen(item.id);
    near.toggleAttribute("hidden", !at);
    svg.dataset.near = at ? keyOf(item.id) : "";
    // Its own name would stand beside the one at the ring.
    for (const label of svg.querySelectorAll(".label.twice")) label.classList.remove("twice");
    if (!at) return;
    svg.querySelector(`[data-named="${CSS.escape(keyOf(item.id))}"]`)?.classList.add("twice");
    const text = textOf(item);
    const left = at[0] + 14 + 7 * text.length > view.width;
    put(near, s("circle", { cx: at[0], cy: at[1], r: 11 }),
      s("text", { x: at[0] + (left ? -15 : 15), y: at[1] - 9, class: left ? "label end-here" : "label", text }));
  }

  function pickable(item, text) {
    const [x, y] = seen(item.id);
    return s("g", { class: "stop offered", transform: `translate(${x} ${y})`, "data-node": keyOf(item.id), tabindex: 0, role: "button", "aria-label": text,
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onpick(item.id); }
        if (event.key === "Backspace") { event.preventDefault(); onback(); }
      } }, s("circle", { r: Math.min(17, Math.max(8, (crowd * view.k) / 2)), class: "hit" }), s("circle", { r: 8, class: "dot" }));
  }

  /** Lines between the places of `pairs`, as far as they are in sight. */
  function lines(pairs) {
    return pairs.map(([u, v]) => [seen(u), seen(v)]).filter(([a, b]) => a && b
      && Math.max(a[0], b[0]) >= -9 && Math.max(a[1], b[1]) >= -9 && Math.min(a[0], b[0]) <= view.width + 9 && Math.min(a[1], b[1]) <= view.height + 9);
  }

  function draw() {
    if (!home.size) return;
    const ends = new Set([keyOf(network.source), keyOf(network.target)]);
    const visited = new Set([...shown.decision, ...shown.alternative, ...shown.then].map(keyOf));
    const inSight = network.nodes.map((item) => ({ item, key: keyOf(item.id), at: seen(item.id), text: textOf(item) })).filter(({ at }) => view.holds(at, 8));
    // Small where places stand close together, and larger as one comes nearer.
    const small = Math.min(3.2, Math.max(1.3, crowd * view.k * 0.16));
    const dots = inSight.map(({ key, at }) => s("circle", { cx: at[0], cy: at[1], "data-place": key,
      r: ends.has(key) ? 7 : visited.has(key) && crowd * view.k > CROWDED ? 4.5 : small, class: ends.has(key) ? "end" : "node" }));
    const rank = (key) => (ends.has(key) ? 0 : shown.offered.has(key) || (visited.has(key) && crowd * view.k >= CROWDED / 2) ? 1 : 2);
    const routes = lines([shown.decision, shown.alternative, shown.then].flatMap(hops));
    const names = namesOf(inSight.map(({ key, at, text }) => ({ key, text, at, rank: rank(key) })), routes, view);
    const focused = document.activeElement?.dataset?.node;
    svg.setAttribute("role", shown.drawing ? "group" : "img");
    svg.setAttribute("aria-label", shown.title ?? "Map of the network with both routes");
    svg.setAttribute("class", `${shown.drawing ? "drawing" : ""}${view.k > 1 ? " moved" : ""}`);
    put(svg, s("path", { d: path(lines(network.edges.map((edge) => [edge.from, edge.to]))), class: "street" }),
      picked,
      s("path", { d: path(lines(hops(shown.decision))), class: "route d" }), s("path", { d: path(lines(hops(shown.then))), class: "route t" }),
      s("path", { d: path(lines(hops(shown.alternative))), class: "route a" }),
      [["wished", shown.wished], ["shunned", shown.shunned]].map(([name, { pairs, places }]) => [s("path", { d: path(lines(pairs)), class: `street ${name}` }),
        places.map(seen).filter(Boolean).map(([cx, cy]) => s("circle", { cx, cy, r: 11, class: `place ${name}` }))]),
      dots, names,
      shown.drawing && inSight.filter(({ key }) => shown.offered.has(key)).map(({ item, key }) => pickable(item, shown.offered.get(key))), near);
    if (focused) svg.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    svg.dataset.zoom = view.k.toFixed(3);
    smaller.disabled = whole.disabled = view.k === 1;
    larger.disabled = view.k >= view.most;
    ring(marked);
    pick();
  }

  let waiting = 0;
  gestures(frame, svg, view, {
    changed: () => { waiting ||= requestAnimationFrame(() => { waiting = 0; draw(); }); },
    eager: () => shown.drawing || frame.contains(document.activeElement),
    hovered: (point) => ring((point && nearest(point)) ?? marked),
    tapped: (point, event) => {
      // A screen reader presses a place itself, wherever it stands.
      const pressed = !event.detail && event.target.closest?.("[data-node]");
      const item = pressed ? items.get(pressed.dataset.node) : nearest(point);
      if (shown.drawing) { if (item) onpick(item.id); return; }
      street = pressed ? null : streetAt(point);
      marked = street ? null : item;
      ring(marked);
      pick();
      onmark(street ? { edge: street } : marked ? { place: marked.id } : undefined);
    },
  });

  new ResizeObserver(() => {
    const width = Math.floor(node.clientWidth);
    if (!width || width === view.width) return;
    const { place, height } = placed(network.nodes, width, Math.min(440, Math.max(300, width * 0.86)));
    home = place;
    crowd = spacing([...place.values()]);
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) svg.setAttribute(name, value);
    view.resize(width, height, Math.max(4, ROOMY / crowd));
    draw();
  }).observe(node);

  return {
    node,
    tools,
    show(next) {
      shown = { ...shown, ...next };
      if (shown.drawing) marked = street = null;
      draw();
    },
    /** Put the focus on the first node that can come next. */
    focus() { (svg.querySelector(".offered") ?? frame).focus({ preventScroll: true }); },
    /** Bring a place into sight, near enough to tell it from those around it; `mark` puts a ring around it. */
    reveal(id, { mark = false, closer = true } = {}) {
      const point = home.get(keyOf(id));
      if (!point) return;
      const [x, y] = point;
      const beside = Math.min(ROOMY, ...[...home.values()].filter((other) => other !== point).map(([u, v]) => Math.hypot(u - x, v - y) || ROOMY));
      const crowded = closer && beside * view.k < CROWDED;
      if (crowded || !view.holds(view.seen(point), -MARGIN / 2)) view.centre(point, crowded ? (2 * CROWDED) / beside : view.k);
      if (mark) { marked = items.get(keyOf(id)); street = null; }
      draw();
    },
  };
}
