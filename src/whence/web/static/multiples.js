// Small multiples: what a feature is and what it would be, each on its own range or among its own values.

import { h } from "./dom.js";
import { value } from "./format.js";
import { state } from "./state.js";

/** With more values than this, only the two that matter are drawn. */
const DRAWN = 7;

const place = (node, left) => { node.style.left = `${100 * left}%`; return node; };

/** A number: a ring where it is, a dot where it would be, and the way between them; where nothing would be, the ring alone. */
function line(from, to, { low, high }) {
  const at = (one) => Math.max(0, Math.min(1, (one - low) / (high - low)));
  if (to === undefined) return h("div", { class: "range-line" }, place(h("i", { class: "range-mark was" }), at(from)));
  const [was, found] = [at(from), at(to)];
  const between = place(h("i", { class: "range-inside" }), Math.min(was, found));
  between.style.width = `${100 * Math.abs(found - was)}%`;
  return h("div", { class: "range-line" }, between, place(h("i", { class: "range-mark was" }), was), place(h("i", { class: "range-mark found" }), found));
}

/** A category or switch: all of its values in their order, or of many the two that matter. */
function values(from, to, feature) {
  const same = (a, b) => b !== undefined && (feature.kind === "binary" ? Boolean(Number(a)) === Boolean(Number(b)) : String(a) === String(b));
  const every = feature.kind === "binary" ? [0, 1] : feature.values ?? [];
  const drawn = every.length <= DRAWN ? every : every.filter((one) => same(one, from) || same(one, to));
  return h("ul", { class: "range-values" }, drawn.map((one) => {
    const mark = same(one, to) ? "found" : same(one, from) ? "was" : "";
    return h("li", { class: mark === "found" ? "inside" : "" }, mark && h("i", { class: `range-mark ${mark}` }), value(one, feature));
  }), every.length > drawn.length && h("li", { class: "more", text: `of ${every.length}` }));
}

/** The picture of one change, or null where there is nothing to draw it on; its words stand beside it. */
export function pictureOf({ feature: name, from, to }) {
  const feature = state.scene.features.find((one) => one.name === name);
  if (!feature || from === undefined) return null;
  const ranged = [from, to ?? from, feature.low, feature.high].every(Number.isFinite) && feature.high > feature.low && feature.kind !== "binary";
  const drawn = ranged ? line(from, to, feature) : ["categorical", "binary"].includes(feature.kind) ? values(from, to, feature) : null;
  return drawn && h("div", { class: "multiple", "aria-hidden": "true" }, drawn);
}
