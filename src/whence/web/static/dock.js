// What must be within reach wherever one is on the page: on a narrow window the decision, the question, and today and then.

import { byId, h } from "./dom.js";
import { aligned, withUnit } from "./format.js";
import { planName, shownThen, state, subscribe } from "./state.js";

/** The width at which the style sheet puts the panels below each other. */
const NARROW = window.matchMedia("(max-width: 860px)");

/** What the plans cost in the context that is shown, as short as can be. */
function costLine() {
  const node = h("p", { class: "dock-costs" });
  const sync = () => {
    if (!state.scene || !NARROW.matches) return;
    const then = state.stage === "then" ? shownThen() : null;
    const costs = then ? [then.decision.cost, then.alternative.cost] : [state.decision?.cost ?? NaN, state.check?.cost ?? NaN];
    const texts = aligned(costs).map((text) => withUnit(text, state.scene.cost_unit));
    const said = ["decision", planName()].map((name, i) => (Number.isFinite(costs[i]) ? `${name} ${texts[i]}` : "")).filter(Boolean).join(" · ");
    const alone = Boolean(state.decision) && !then && !Number.isFinite(costs[1]);
    const [head, plan] = [`${said}${alone ? ":" : ""}`, !state.decision || then ? "" : ` ${alone ? "" : "Decision: "}${state.decision.text}`];
    if (node.textContent !== head + plan) node.replaceChildren(h("b", { text: head }), h("span", { text: plan }));
  };
  subscribe(sync);
  NARROW.addEventListener("change", sync);
  return node;
}

/** Keep `question`, the button and what is said beside it, in the dock on a narrow window and in its panel on a wide one; the plan then comes before the controls. */
export function startDock(question) {
  const costs = costLine();
  const place = () => {
    const narrow = NARROW.matches;
    (narrow ? byId("dock") : byId("ask-bar")).prepend(question);
    (narrow ? byId("dock") : byId("stage-place")).append(byId("stage"));
    if (narrow) byId("dock").prepend(costs);
    else costs.remove();
    const context = document.querySelector(".context-panel");
    if (narrow) byId("explanation-panel").after(context);
    else document.querySelector(".columns").prepend(context);
  };
  NARROW.addEventListener("change", place);
  place();
}
