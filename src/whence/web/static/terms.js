// Words of the trade, each explained where it stands: a button that opens a short note, by mouse, finger or keyboard.

import { byId, h } from "./dom.js";

const TERMS = {
  distance: "How far the context found is from the one asked about. Each change counts by the share of the feature’s range in the history: across the whole range is 1, another category or a switch is 1. The changes are added up, each times the weight of its feature.",
  boxes: "The search cuts the space of all contexts into boxes and rules out whole boxes at once. When no box is left that could hold a nearer context, the one found is proved to be the nearest.",
  refits: "The same model, learned once more with other random numbers or from data drawn anew. Twenty of them are asked: ten choose how much certainty is wanted, ten others judge. Where most of them agree, the answer does not hang on chance. That no plan is better holds in a refit where yours is nearly the best there: the sentence says within which share.",
  worlds: "Nobody knows the true costs, but a world can be simulated in which they are known: the best predictor of the outcomes that can be found, plus its errors, gives the past contexts new outcomes, and the policy is learned from them. Questions of its own history are asked there, and it is counted how many answers are true. That is done once for a policy and a kind of question. A world that changes is not among those simulated.",
  strips: "Along this control, with everything else as it is: where the decision, your plan or another one is best. Another plan counts from 1 % of the cost on; an orange line below it says where your plan is still cheaper than the decision. The numbers are where it turns; 6 | 7 is between 6 and 7. What is pale is not settled yet.",
  foresight: "What decisions would cost that knew what was to come: no policy can do better. The share of the way from one plan for all to foresight says how much of what could be gained is gained.",
  context: "Everything that is known when the plan is made, such as the weekday and the weather: one value a feature. It decides which past observations count.",
  decision: "The plan that the policy makes in this context: of all plans, the one that costs least where past observations count by how alike they are to today.",
  risk: "What a plan costs when past observations come back, each as often as its weight says: on average (expected cost), or on average over the dearest of them only (CVaR).",
  proved: "Proved: the search has ruled out every nearer context, not only looked at some. Where time was up, the best so far is shown, and how near the nearest one could be.",
  none: "Proved: the search has ruled out every context that your locks, limits and conditions allow for.",
  already: "In the context as it is, what was asked for holds without any change.",
  usual: "Of how many past contexts this one is at least as usual, by how near its neighbours in the past are. What is said of a strange context rests on few observations.",
  shapley: "The differences can be made one after the other, in any order, and what one of them adds depends on the order. The Shapley value is its average over all orders: shares that are fair, and add up to the whole.",
  simplicity: "A few rules stand for the policy, and cost more than it does. Each was learned on some rows of the history, and judged on others.",
  conditions: "What an answer must keep to: how often answers of its kind must be true, by how much the plan must be cheaper there, how strange its context may be, how many features may change, and how long is searched.",
  gap: "The nearest context is no nearer than the proved lower bound. The gap is what lies between it and the distance of the one found, as a share of that distance: 0 where it is proved nearest.",
  tolerance: "Costs that differ by less are taken for the same number.",
  absolute: "Relative: your plan is as good as today’s decision. Absolute: no plan at all is better than yours.",
  confidence: "By how many standard errors the plan must be better: a wider lead is less likely to be chance.",
  engine: "What has searched: “search” is exact and made for such weights, “milp” gives an integer program to a solver. Whichever it was, the answer was computed once more from the model and the problem.",
  asked: "What the plan, or one of the plans that were asked about, must be in the context found.",
  rivals: "Plans that turned out better than yours in contexts on the way. The search keeps them, and rules out every context in which one of them is better.",
  separation: "By how much the past observations that have a say must be nearer than the next one, so that rounding does not decide which of them are neighbours.",
  speak: "The policy gives every past observation a weight: the more alike its context and the one shown are, the larger. Only observations with a weight have a say in the decision; they speak for the context.",
};
const GAP = 6;
const ROOM = 190;
const WIDE = 332;

let anchor = null;

/** Put a note below its word, or above where there is no room. */
function place(node) {
  if (!anchor) return;
  const box = anchor.getBoundingClientRect();
  const above = box.bottom > window.innerHeight - ROOM;
  node.style.setProperty("left", `${Math.max(12, Math.min(box.left, document.documentElement.clientWidth - WIDE))}px`);
  node.style.setProperty("top", above ? "auto" : `${box.bottom + GAP}px`);
  node.style.setProperty("bottom", above ? `${window.innerHeight - box.top + GAP}px` : "auto");
}

function note(name) {
  const id = `term-${name}`;
  if (byId(id)) return id;
  const node = h("div", { id, class: "term-note", popover: "auto", text: TERMS[name] });
  node.addEventListener("beforetoggle", (event) => { if (event.newState === "open") place(node); });
  document.querySelector("main").append(node);
  return id;
}

/** The word `text` as a button that explains it. */
export function term(name, text = name) {
  return h("button", { type: "button", class: "term", popovertarget: note(name), "aria-description": "What does that mean?",
    onclick: (event) => { anchor = event.currentTarget; }, text });
}

// It stays beside its word when the page moves, and goes with it.
window.addEventListener("scroll", () => {
  const open = document.querySelector(".term-note:popover-open");
  if (!open || !anchor) return;
  const { top, bottom } = anchor.getBoundingClientRect();
  if (bottom < 0 || top > window.innerHeight) open.hidePopover();
  else place(open);
}, { passive: true });
