// What a plan should be like where a set of plans is asked about: offered by what was clicked, kept as chips.

import { bringIntoView, button, byId, h, icon, leadTo, put } from "./dom.js";
import { listed, plain } from "./format.js";
import { explain, pending } from "./jobs.js";
import { announce } from "./notices.js";
import { obstacle } from "./obstacles.js";
import { ask, hasWish, KINDS, state } from "./state.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
/** A wish for a place, or against it: one takes the place of the other. */
const HOWS = ["through", "using", "avoiding"];
const WORDS = { through: "through", using: "along", avoiding: "avoiding", at_least: "at least", at_most: "at most", between: "between" };
const amounts = (amount) => [amount].flat().map((one) => plain(one)).join(" and ");

const filled = (wish) => Object.fromEntries(Object.entries(wish).filter(([, items]) => Object.keys(items).length));

/** What a place, street or piece of a street is called. */
function labelled(item) {
  const { nodes } = state.scene.plan;
  const label = (id) => nodes.find((node) => same(node.id, id))?.label;
  if (label(item) !== undefined) return label(item);
  return Array.isArray(item) ? item.map((end) => label(end) ?? end).join(" → ") : String(item);
}

/** The single wishes: what each says, and the rest without it. */
function entries() {
  return Object.entries(state.wish).flatMap(([how, items]) => (Array.isArray(items)
    ? items.map((item) => ({ how, text: labelled(item), rest: { ...state.wish, [how]: items.filter((other) => !same(other, item)) } }))
    : Object.entries(items).map(([part, amount]) => ({ how, text: `${amounts(amount)} ${part}`, rest: { ...state.wish, [how]: Object.fromEntries(Object.entries(items).filter(([other]) => other !== part)) } }))));
}

/** What a plan of the set is called: "a route through Tannery, avoiding Quay". */
export function wishWords() {
  const said = entries().map(({ how, text }) => `${WORDS[how]} ${text}`);
  return state.scene.plan.type === "route" ? `a route ${said.join(", ")}` : `a plan with ${listed(said)}`;
}

/** The card of the answer that stands first. */
export const firstAnswer = () => byId("explanation").querySelector(".explanation-question:not([hidden]) .explanation-card:not([hidden])");

/** Wish that a route goes through, along or around `items`. */
export function wishFor(how, items) {
  const others = Object.fromEntries(HOWS.map((name) => [name, (state.wish[name] ?? []).filter((item) => !items.some((one) => same(one, item)))]));
  ask({ wish: filled({ ...others, [how]: [...others[how], ...items] }) });
}

/** Wish for at least or at most so much of a part. */
export function wishAmount(how, part, amount) {
  ask({ wish: { ...state.wish, [how]: { ...state.wish[how], [part]: amount } } });
}

/**
 * The bar below the plans: what can be wished of the part that was chosen, and what has been wished for.
 *
 * `offer(name, wishes)` offers `wishes`, a list of {text, act}; without any, `hint` says how to begin.
 */
export function wishBar(hint) {
  const noun = state.scene.plan.type === "route" ? "route" : "plan";
  const told = h("p", { class: "hint", text: hint });
  const name = h("b");
  const offers = h("div", { class: "row offers", role: "group", hidden: true });
  const chips = h("div", { class: "row chips", role: "group", "aria-label": `What the ${noun} should be like` });
  const note = h("p", { class: "hint", role: "status" });
  const go = button(`When such a ${noun}?`, (event) => {
    leadTo(event, explain("set"), firstAnswer);
    bringIntoView(byId("explanation-panel"));
  }, { class: "button primary", id: "ask-set" });
  const clear = button("Clear", () => { ask({ wish: {} }); announce("All wishes are cleared."); }, { class: "button quiet" });
  const wished = h("div", { class: "wished", hidden: true }, chips, h("div", { class: "row" }, go, clear), note);
  const node = h("div", { class: "wish-bar" }, told, offers, wished);
  let drawn = "";

  function chip({ how, text, rest }) {
    return h("button", { type: "button", class: `chip ${how === "avoiding" ? "against" : ""}`, "aria-label": `Do not ask for ${WORDS[how]} ${text}`,
      onclick: () => { ask({ wish: filled(rest) }); (chips.querySelector("button") ?? node.querySelector("button"))?.focus({ preventScroll: true }); } }, `${WORDS[how]} ${text}`, icon("cross"));
  }

  return {
    node,
    offer(what, wishes = []) {
      offers.hidden = !wishes.length;
      told.hidden = Boolean(wishes.length);
      offers.setAttribute("aria-label", `Ask about ${what}`);
      name.textContent = what;
      put(offers, name, wishes.map(({ text, act }) => button(text, act)));
    },
    sync() {
      node.hidden = state.drawing;
      wished.hidden = !hasWish();
      const busy = state.about === "set" && !state.stale && KINDS.some(pending);
      go.disabled = Boolean(obstacle()) || busy;
      note.textContent = hasWish() ? obstacle() : "";
      const mark = JSON.stringify(state.wish);
      if (mark === drawn) return;
      drawn = mark;
      put(chips, h("span", { class: "hint", text: noun === "route" ? "A route" : "A plan with" }), entries().map(chip));
    },
  };
}
