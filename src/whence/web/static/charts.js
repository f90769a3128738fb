// Small charts that keep their elements and only change their sizes, so that the style sheet can animate a switch.

import { h, put, s } from "./dom.js";
import { aligned, listed, plain, ticks, withUnit } from "./format.js";

const WIDTH = 380;

const LEFT = 104;
/** What the plans are called in the answers of the server. */
const NAMES = { d: "decision", a: "alternative" };

/** What the second plan is called, wherever a chart names it. */
let second = "your plan";

/** Call the second plan of all charts and legends `name`. */
export function callSecond(name) {
  if (name === second) return;
  second = name;
  for (const node of document.querySelectorAll("[data-second]")) node.textContent = node.dataset.second === "short" && name !== "your plan" ? "takes over" : name;
}

const called = () => (second === "your plan" ? second : `the ${second}`);

/** Bars from zero: what both plans cost and, in the context found, what the policy would decide there instead. */
export function costBars(title) {
  const rows = [["d", "decision"], ["a", "your plan"], ["t", "decision then"]].map(([plan, label], index) => {
    const y = 3 + 29 * index;
    const bar = s("rect", { x: LEFT, y, width: 1, height: 20, rx: 3, class: `bar ${plan}` });
    const text = s("text", { y: y + 15, class: "number" });
    return { bar, text, node: s("g", {}, s("text", { x: 0, y: y + 15, class: "small", text: label, "data-second": plan === "a" && "short" }), bar, text) };
  });
  const axis = s("line", { x1: LEFT, x2: LEFT, y1: 0, class: "axis" });
  const name = s("title");
  const node = s("svg", { class: "chart", role: "img" }, name, rows.map((row) => row.node), axis);
  return {
    node,
    /** `costs`: of the plans, in that order (null: not known); `beside`: costs drawn elsewhere on the same scale. */
    update(costs, beside = [], unit = "") {
      const every = [...costs, ...beside].filter(Number.isFinite);
      const low = Math.min(0, ...every);
      const room = 74 + (unit ? 7 * (unit.length + 1) : 0);
      const scale = (WIDTH - LEFT - room) / (Math.max(0, ...every) - low || 1);
      const zero = LEFT - low * scale;
      const height = 29 * costs.length;
      node.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
      for (const [key, at] of [["x1", zero], ["x2", zero], ["y2", height - 3]]) axis.setAttribute(key, at);
      const texts = aligned(costs).map((text) => withUnit(text, unit));
      const least = Math.min(...costs.filter(Number.isFinite));
      rows.forEach(({ bar, text, node: row }, index) => {
        const cost = costs[index];
        const known = Number.isFinite(cost);
        const length = known ? Math.max(Math.abs(cost) * scale, 1) : 0;
        const start = zero + (known ? Math.min(0, cost) * scale : 0);
        row.toggleAttribute("hidden", index >= costs.length);
        bar.setAttribute("x", start);
        bar.setAttribute("width", length);
        text.setAttribute("x", Math.max(start + length, zero) + 7);
        text.textContent = known ? texts[index] : "–";
        text.classList.toggle("strong", known && cost <= least);
      });
      const said = costs.map((cost, index) => `${Number.isFinite(cost) ? texts[index] : "unknown"} for ${["the decision", called(), "the decision then"][index]}`);
      name.textContent = `${title}: ${listed(said)}.`;
    },
  };
}

/** How the costs of both plans spread over past observations, as weighted steps with a mark at their risk. */
export function distribution() {
  const bottom = 132;
  const side = 10;
  const layers = ["d", "a"].map((plan) => ({
    plan,
    steps: s("path", { class: `step ${plan}` }),
    mark: s("g", { class: `mark ${plan}` }, s("line", { x1: 0, x2: 0, y1: 8, y2: bottom }),
      s("path", { d: plan === "d" ? "M-5 4H5L0 13Z" : "M-5 22H5L0 13Z" })),
  }));
  const scaleMarks = s("g", { class: "scale" });
  const axis = s("text", { x: WIDTH / 2, y: bottom + 34, class: "small mid" });
  const name = s("title");
  const node = s("svg", { viewBox: `0 0 ${WIDTH} ${bottom + 38}`, class: "chart", role: "img" }, name,
    layers.map((layer) => layer.steps), layers.map((layer) => layer.mark),
    s("line", { x1: side, x2: WIDTH - side, y1: bottom, y2: bottom, class: "axis" }), scaleMarks,
    axis);
  return {
    node,
    /** `spread`: bins and the weights in them, as the server works them out; `index`: which of its panels to draw. */
    update(spread, index, unit = "") {
      axis.textContent = `cost under past observations${unit && ` (${unit})`}`;
      if (!spread) return;
      const { edges, highest, panels } = spread;
      const [low, high] = [edges[0], edges.at(-1)];
      const panel = panels[index];
      const at = (cost) => side + ((Math.min(Math.max(cost, low), high) - low) * (WIDTH - 2 * side)) / (high - low);
      layers.forEach(({ plan, steps, mark }) => {
        const key = NAMES[plan];
        const masses = panel[key];
        steps.toggleAttribute("hidden", !masses);
        mark.toggleAttribute("hidden", !masses);
        if (!masses) return;
        const heights = masses.map((mass) => bottom - ((bottom - 10) * mass) / (highest || 1));
        const path = heights.map((y, k) => `L${at(edges[k]).toFixed(1)} ${y.toFixed(1)}L${at(edges[k + 1]).toFixed(1)} ${y.toFixed(1)}`);
        steps.setAttribute("d", `M${at(low)} ${bottom}${path.join("")}L${at(high)} ${bottom}`);
        mark.style.transform = `translateX(${at(panel.marks[key])}px)`;
      });
      put(scaleMarks, ticks(low, high).map((tick) => [
        s("line", { x1: at(tick), x2: at(tick), y1: bottom, y2: bottom + 4, class: "axis" }),
        s("text", { x: at(tick), y: bottom + 17, class: "small mid", text: plain(tick) }),
      ]));
      const marks = layers.map(({ plan }) => (panel[NAMES[plan]] ? withUnit(plain(panel.marks[NAMES[plan]], 4), unit) : "not known"));
      name.textContent = `Costs under past observations, from ${plain(low, 3)} to ${withUnit(plain(high, 3), unit)}; marked at ${marks[0]} for the decision and ${marks[1]} for ${called()}.`;
    },
  };
}

/** The legend of the plans; the third is there in the context found only. */
export function legend(shape) {
  return h("p", { class: "legend" }, [["d", "decision"], ["a", "your plan"], ["t", "decision then"]].map(([plan, text]) =>
    h("span", { class: `entry ${plan}` }, h("i", { class: `key ${shape} ${plan}`, "aria-hidden": "true" }), h("span", { text, "data-second": plan === "a" && "long" }))));
}
