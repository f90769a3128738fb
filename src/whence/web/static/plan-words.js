// Plans that only the problem itself can read: a table in words.

import { h, put } from "./dom.js";
import { aligned, withUnit } from "./format.js";
import { planName, shownThen, state, takingOver } from "./state.js";

const HINT = "Plans of this problem are told in words. Take the plan of another context as your own, and compare.";

/** The view of a scene whose plans are neither routes nor lists of numbers: {node, tools, problem(plan), update()}. */
export function wordsView() {
  const body = h("tbody");
  const table = h("table", { class: "plan-table" }, h("thead", {}, h("tr", {}, ["", "plan", "cost"].map((text) => h("th", { scope: "col", text })))), body);

  function row(kind, name, text, cost) {
    return h("tr", { class: kind }, h("th", { scope: "row", text: name }), h("td", { text: text ?? "–" }), h("td", { text: cost }));
  }

  return {
    node: h("div", { class: "picture" }, h("p", { class: "hint", text: HINT }), table),
    tools: [],
    problem: (plan) => (plan === null || plan === undefined ? "Take the plan of another context first." : null),
    update() {
      const then = state.stage === "then" ? shownThen() : null;
      const { decision, check } = state;
      const costs = then ? [then.decision.cost, then.alternative.cost, then.cost] : [decision?.cost, check?.cost];
      const [first, second, third] = aligned(costs.map((cost) => cost ?? NaN)).map((text) => (text === "unknown" ? "–" : withUnit(text, state.scene.cost_unit)));
      put(body, row("d", "decision", decision?.text, first), row("a", planName(), (then && takingOver()?.text) ?? check?.text, second),
        then && row("t", "decision then", then.text, third));
    },
  };
}
