// Words of the trade, each explained where it stands: a button that opens a short note, by mouse, finger or keyboard.

import { byId, h } from "./dom.js";

const TERMS = {
  distance: "How far the context found is from the one asked about. Each change counts by the share of the feature’s range in the history: across the whole range is 1, another category or a switch is 1. The changes are added up, each times the weight of its feature.",
  boxes: "The search cuts the space of all contexts into boxes and rules out whole boxes at once. When no box is left that could hold a nearer context, the one found is proved to be the nearest.",
  speak: "The policy gives every past observation a weight: the more alike its context and the one shown are, the larger. Only observations with a weight have a say in the decision; they speak for the context.",
};
const GAP = 6;
const ROOM = 190;

let anchor = null;

function note(name) {
  const id = `term-${name}`;
  if (byId(id)) return id;
  const node = h("div", { id, class: "term-note", popover: "auto", text: TERMS[name] });
  node.addEventListener("beforetoggle", (event) => {
    if (event.newState !== "open" || !anchor) return;
    const box = anchor.getBoundingClientRect();
    const above = box.bottom > window.innerHeight - ROOM;
    node.style.setProperty("left", `${Math.max(12, Math.min(box.left, document.documentElement.clientWidth - 332))}px`);
    node.style.setProperty("top", above ? "auto" : `${box.bottom + GAP}px`);
    node.style.setProperty("bottom", above ? `${window.innerHeight - box.top + GAP}px` : "auto");
  });
  document.querySelector("main").append(node);
  return id;
}

/** The word `text` as a button that explains it. */
export function term(name, text = name) {
  return h("button", { type: "button", class: "term", popovertarget: note(name), "aria-description": "What does that mean?",
    onclick: (event) => { anchor = event.currentTarget; }, text });
}

// It stands beside its word: it goes when the page moves away under it.
window.addEventListener("scroll", () => document.querySelector(".term-note:popover-open")?.hidePopover(), { passive: true });
