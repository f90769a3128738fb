// The plan panel: both plans drawn, what they cost, and the ways to a plan of one's own.

import { api } from "./api.js";
import { callSecond } from "./charts.js";
import { judgeBy } from "./decisions.js";
import { button, byId, h, icon, put } from "./dom.js";
import { aligned, plain, withUnit } from "./format.js";
import { allOutside } from "./history.js";
import { announce, failed } from "./notices.js";
import { quantitiesView } from "./plan-quantities.js";
import { routeView } from "./plan-route.js";
import { wordsView } from "./plan-words.js";
import { term } from "./terms.js";
import { ask, missing, numbers, observationNamed, planName, plannedIn, shownThen, state, subscribe, takingOver } from "./state.js";

/** A plan of more letters than this is folded. */
const LONG = 280;

let view = null;
let cards = null;

function viewOf(scene) {
  if (scene.plan.type === "route") return routeView(scene);
  return scene.plan.parts.length ? quantitiesView(scene) : wordsView();
}

function card(kind, heading, subtitle, ...more) {
  const cost = h("p", { class: "cost" });
  const text = h("p", { class: "plan-text" });
  const under = h("p", { class: "hint", text: subtitle });
  const whole = h("button", { type: "button", class: "as-link whole-text", hidden: true, "aria-expanded": "false", onclick: () => fold(text.classList.contains("folded")) });
  const fold = (open) => {
    text.classList.toggle("folded", !open && text.textContent.length > LONG);
    whole.hidden = text.textContent.length <= LONG;
    whole.textContent = open ? "Less of it" : "All of it";
    whole.setAttribute("aria-expanded", String(open));
  };
  const title = h("h3", {}, kind === "d" ? term("decision", heading) : heading);
  const node = h("section", { class: `card plan-card ${kind}`, "aria-label": heading },
    h("div", { class: "card-head" }, h("div", {}, title, under), cost), text, whole, more);
  return {
    node,
    call(name) {
      title.textContent = name;
      node.setAttribute("aria-label", name);
    },
    show(words, costs, difference, below = subtitle) {
      under.textContent = below;
      if (text.textContent !== words) { text.textContent = words; fold(false); }
      put(cost, costs && h("b", { text: costs }), difference && h("span", { class: "difference", text: difference }));
    },
  };
}

/** "Take the plan of": the decision for the controls as they are, or for a past observation. */
function takeForm() {
  const [first, last] = numbers();
  const field = h("input", { type: "number", id: "take-row", min: first, max: last, step: 1, placeholder: `${first}–${last}`, inputmode: "numeric" });
  const note = h("p", { class: "hint", role: "status" });
  const say = (text, bad = false) => { note.textContent = text; note.classList.toggle("warning", bad); };

  function takeCurrent() {
    if (!state.decision) return;
    if (Array.isArray(state.decision.plan)) plannedIn.set(state.decision.plan, { ...state.context });
    ask({ plan: state.decision.plan, check: null, drawing: false });
    say("Your plan is now the decision for the controls as they are. Change the controls, and compare.");
  }

  async function takeRow() {
    const number = field.value === "" ? NaN : Number(field.value);
    if (!Number.isInteger(number) || number < first || number > last) {
      say(`Past observations are numbered from ${first} to ${last}.`, true);
      return;
    }
    try {
      const { id } = state.scene;
      const past = await api.observation(id, number);
      const decision = await api.decide(id, past.context);
      if (state.scene.id !== id) return;
      if (Array.isArray(decision.plan)) plannedIn.set(decision.plan, past.context);
      ask({ plan: decision.plan, check: null, drawing: false });
      say(`Your plan is now the decision for observation ${observationNamed(past)}.`);
    } catch (error) {
      say(failed(error), true);
    }
  }

  return h("details", { class: "take" }, h("summary", { text: "Take the plan of another context" }),
    h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); takeRow(); } },
      h("label", { for: "take-row", text: "observation" }), field, h("button", { type: "submit", class: "button", text: "Take" })),
    button("Plan for the controls as they are", takeCurrent, { class: "button" }), note);
}

function build() {
  const scene = state.scene;
  view = viewOf(scene);
  judgeBy(view.problem);
  const reason = h("p", { class: "reason", role: "alert", hidden: true });
  const caution = h("p", { class: "hint caution", role: "status" });
  const decision = card("d", "Decision", "what the policy plans", caution);
  const then = card("t", "Decision then", "what the policy plans there");
  const yours = card("a", "Your plan", "what you would do", reason, h("div", { class: "row" }, view.tools), takeForm());
  cards = { decision, then, yours, reason, caution };
  put(byId("plan"), view.node, h("div", { class: "plan-cards" }, decision.node, yours.node, then.node));
}

/** How the second of two costs compares with the first. */
function compared(first, second) {
  if (!Number.isFinite(first) || !Number.isFinite(second)) return "";
  const difference = second - first;
  if (Math.abs(difference) <= 1e-9 * Math.max(Math.abs(first), 1)) return "the same";
  return `${withUnit(plain(Math.abs(difference), 2), state.scene.cost_unit)} ${difference > 0 ? "more" : "less"}`;
}

function showCards() {
  const { decision, check, stage } = state;
  const then = stage === "then" ? shownThen() : null;
  const [first, second] = then ? [then.decision.cost, then.alternative.cost] : [decision?.cost, check?.cost];
  const texts = aligned([first ?? NaN, second ?? NaN, then?.cost ?? NaN]).map((text) => withUnit(text, state.scene.cost_unit));
  cards.decision.show(state.decideError ?? decision?.text ?? "Deciding …", Number.isFinite(first) && texts[0], "",
    then ? "today’s, in the context found" : undefined);
  cards.decision.node.classList.toggle("busy", state.deciding);
  const far = decision ? allOutside().join(" ") : "";
  if (cards.caution.textContent !== far) cards.caution.textContent = far;
  const taking = then && takingOver();
  const infeasible = !taking && check && !check.feasible;
  const none = state.plan === null || state.plan === undefined;
  cards.yours.call(taking ? "Plan that takes over" : "Your plan");
  if (taking) cards.yours.show(taking.text, texts[1], compared(first, second), "in the context found");
  else cards.yours.show(none ? "You have none yet." : infeasible ? "" : check?.text ?? (missing().length ? "" : "…"),
    !infeasible && Number.isFinite(second) && texts[1], !infeasible && compared(first, second));
  cards.reason.hidden = !infeasible;
  if (infeasible) put(cards.reason, icon("warn"), h("span", {},
    h("b", { text: check.unchecked ? "This plan could not be checked. " : check.incomplete ? "This plan is not complete. " : "This plan cannot be carried out. " }), check.reason));
  cards.then.node.hidden = !then;
  if (then) cards.then.show(then.text, texts[2], compared(then.alternative.cost, then.cost) === "the same" ? `as ${taking ? "that plan" : "your plan"}` : "");
  callSecond(planName());
}

export function startPlan() {
  subscribe((changed) => {
    if (!state.scene) return;
    if (changed.has("scene")) build();
    if (["scene", "context", "decision", "deciding", "plan", "wish", "about", "online", "limits", "check", "drawing", "stage", "selected", "answer", "picked", "explanations", "stale"].some((key) => changed.has(key))) {
      view.update(changed);
      showCards();
    }
    if (changed.has("stage") && !changed.has("scene")) announce(state.stage === "then" ? "Shown: the context that was found." : "Shown: today.");
  });
}
