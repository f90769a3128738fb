// Words of the trade, each explained where it stands: a button that opens a short note, by mouse, finger or keyboard.

import { byId, h } from "./dom.js";

const TERMS = {
  distance: "How far the context found is from the one asked about. Each change counts by the share of the feature’s range in the history: across the whole range is 1, another category or a switch is 1. The changes are added up, each times the weight of its feature.",
  boxes: "The search cuts the space of all contexts into boxes and rules out whole boxes at once. When no box is left that could hold a nearer context, the one found is proved to be the nearest.",
  refits: "The same model, learned once more with other random numbers or from data drawn anew. Twenty of them are asked: ten choose how much certainty is wanted, ten others judge. Where most of them agree, the answer does not hang on chance. That no plan is better holds in a refit where yours is nearly the best there: the sentence says within which share.",
  worlds: "Nobody knows the true costs, but a world can be simulated in which they are known: the best predictor of the outcomes that can be found, plus its errors, gives the past contexts new outcomes, and the policy is learned from them. Questions of its own history are asked there, and it is counted how many answers are true. That is done once for a policy and a kind of question. A world that changes is not among those simulated.",
  strips: "Along this control, with everything else as it is: where the decision, your plan or another one is best. Another plan counts from 1 % of the cost on; an orange line below it says where your plan is still cheaper than the decision. The numbers are where it turns; 6 | 7 is between 6 and 7. What is pale is not settled yet.",
  foresight: "What decisions would cost that knew what was to come: no policy can do better. The share of the way from one plan for all to foresight says how much of what could be gained is gained.",
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
