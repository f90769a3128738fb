// The explanation panel: ask, follow both searches, read the answers: for each where it turns, and where it may be relied on.

import { answer, filesOf, linesOf } from "./answers.js";
import { api } from "./api.js";
import { asksToRely, changesSlider, conditionsDrawer } from "./conditions.js";
import { startDock } from "./dock.js";
import { bringIntoView, button, byId, h, icon, leadTo, put } from "./dom.js";
import { duration } from "./format.js";
import { frontSlot } from "./front.js";
import { pricesSlot } from "./prices.js";
import { cancel, explain, kindsOf, pending } from "./jobs.js";
import { announce } from "./notices.js";
import { obstacle, planObstacle } from "./obstacles.js";
import { openingCard, startOpening } from "./opening.js";
import { answersOf, isShown, judgedByRefits, KINDS, state, subscribe, thenOf, update } from "./state.js";
import { meterFor, progressLine, redraw, refitLine } from "./waiting.js";
import { firstAnswer, wishWords } from "./wish.js";

/** What is asked of the best plan: to be it, or where plans are quantities to be near it. */
const near = (best, whose) => (state.scene.within ? `${whose} within ${Number((100 * state.scene.within).toPrecision(3))} % of the best` : best);
/** Title and question of an explanation, by what it is about. */
const TEXTS = {
  mine: {
    relative: () => ["Better than the decision", "Where would your plan have been at least as good as the decision?"],
    absolute: () => ["Best of all plans", `Where would ${near("no plan at all have been better than yours", "your plan have been")}?`],
  },
  any: {
    relative: () => ["What would change the plan", "Where would today’s plan no longer have been near the best? “Near” is within 1 %, unless Conditions say otherwise."],
    absolute: () => ["", ""],
  },
  set: {
    relative: () => ["Better than the decision", `Where would ${asked} have been at least as good as the decision?`],
    absolute: () => ["Best of all plans", `Where would ${near(`${asked} have been the best of all plans`, `${asked} have been`)}?`],
  },
};
/** The set that the explanations are about, in words: what is wished for may have changed since. */
let asked = "";

const textsOf = (kind) => TEXTS[state.about][kind]();
const titleOf = (kind) => textsOf(kind)[0];

const downloads = (kind, { job }) => filesOf(`${state.scene.id}-${kind}`, api.report(job), api.data(job));

/** The share of nearest answers that are true, where worlds were asked and another answer is the one to rely on; or null. */
const turningShare = ({ nearest, result }) => (nearest && result?.explanation.reliance?.worlds?.curve[0]?.share) ?? null;

/** The card of the nearest answer: where the verdict turns. */
function turningCard(kind) {
  const meter = meterFor(progressLine(), () => cancel(kind), () => `Cancel the search: ${titleOf(kind)}`);
  const heading = h("h4", { text: "Where it turns" });
  const body = h("div", { class: "answer" });
  const node = h("div", { class: "card explanation-card", role: "group", tabindex: "-1", "data-kind": kind }, heading, meter.node, body);
  let drawn = "";
  let told = "";

  function sync(entry, busy) {
    const { turns, holds } = answersOf(entry);
    const waiting = busy && !turns;
    // Where no other context was found for it, how far one may rely on this one is told here.
    const judged = !busy && !holds && turns?.explanation.reliance ? turns.explanation.shown : null;
    heading.textContent = (judged?.reliable && judged.where) || "Where it turns";
    node.setAttribute("aria-label", `${titleOf(kind)}: ${heading.textContent.toLowerCase()}`);
    node.classList.toggle("good", Boolean(judged?.reliable));
    // Beside one to rely on, it is a remark.
    node.classList.toggle("remark", Boolean(holds?.explanation.shown.reliable));
    node.classList.toggle("selected", isShown(kind, "turns") && Boolean(thenOf(turns)) && !state.stale);
    node.classList.toggle("stale", state.stale);
    node.setAttribute("aria-busy", String(waiting));
    heading.hidden = entry.state === "idle" || !asksToRely();
    meter.sync(entry, waiting);
    const mark = [entry.state === "running" ? "" : entry.state, entry.job, Boolean(turns), turningShare(entry), state.selected, state.answer, Boolean(state.picked), state.stage, busy].join();
    if (mark === drawn) return;
    drawn = mark;
    if (waiting) put(body);
    else if (turns) {
      const unknown = turns.explanation.context && state.scene.unknown;
      redraw(body, answer(kind, "turns", turns, turningShare(entry)), unknown && h("p", { class: "hint", text: unknown }), !busy && downloads(kind, entry));
      // Once, not with every switch between today and then.
      if (entry.job !== told) announce(`${titleOf(kind)}: ${linesOf(turns.explanation.shown)[0]}`);
      told = entry.job;
    }
    else if (entry.state === "cancelled") put(body, h("p", { class: "soft", text: "Stopped before anything was found." }));
    else if (entry.state === "error") put(body, h("p", { class: "reason" }, icon("warn"), h("span", { text: entry.error })));
    else put(body, h("p", { class: "soft", text: "Not asked yet." }));
  }
  return { node, sync };
}

/** The card of the answer to rely on: there while it is looked for, and where it is another one than the nearest. */
function reliableCard(kind) {
  const meter = meterFor(refitLine(), () => cancel(kind), () => `Cancel the search for what holds: ${titleOf(kind)}`);
  const heading = h("h4");
  const body = h("div", { class: "answer" });
  const node = h("div", { class: "card explanation-card reliable", role: "group", tabindex: "-1", "data-reliable": kind }, heading, meter.node, body);
  let drawn = "";
  let told = "";

  function sync(entry, busy) {
    const { turns, holds } = answersOf(entry);
    const found = busy ? null : entry.result?.explanation;
    node.setAttribute("aria-label", `${titleOf(kind)}: where you may rely on it`);
    const waiting = busy && Boolean(turns);
    node.hidden = !waiting && !holds;
    node.classList.toggle("good", Boolean(found?.shown.reliable));
    node.classList.toggle("selected", isShown(kind, "holds") && Boolean(thenOf(holds)) && !state.stale);
    node.classList.toggle("stale", state.stale);
    node.setAttribute("aria-busy", String(waiting));
    meter.sync(entry, waiting);
    const mark = [entry.state === "running" ? "" : entry.state, entry.job, waiting, state.selected, state.answer, Boolean(state.picked), state.stage].join();
    if (mark === drawn) return;
    drawn = mark;
    heading.textContent = found?.shown.where || (judgedByRefits() ? "Where refits agree" : "Where you may rely on it");
    if (node.hidden || waiting) put(body);
    else redraw(body, answer(kind, "holds", holds));
    if (!waiting && found?.reliance && entry.job !== told) {
      announce(`${titleOf(kind)}, ${heading.textContent}: ${found.shown.agreed}`);
      told = entry.job;
    }
  }
  return { node, sync };
}

function explanationCards(kind) {
  const cards = [turningCard(kind), reliableCard(kind)];
  const [heading, hint] = [h("h3"), h("p", { class: "hint" })];
  const node = h("section", { class: "explanation-question" }, heading, hint, cards.map((card) => card.node));
  /** The answer to rely on leads; the nearest one follows as a remark. */
  function arrange(leads) {
    const [turning, relied] = cards.map((card) => card.node);
    if (leads === (relied.nextSibling === turning)) return;
    const held = node.contains(document.activeElement) ? document.activeElement : null;
    node.append(...(leads ? [relied, turning] : [turning, relied]));
    held?.focus({ preventScroll: true });
  }
  function sync() {
    const [title, question] = textsOf(kind);
    node.hidden = !kindsOf(state.about).includes(kind);
    node.setAttribute("aria-label", title);
    heading.textContent = title;
    hint.textContent = question;
    for (const card of cards) card.sync(state.explanations[kind], pending(kind));
    arrange(Boolean(answersOf(state.explanations[kind]).holds?.explanation.shown.reliable));
  }
  return { node, sync };
}

/** How long a search may take: a few choices, the limit in use, and the most that the server allows. */
function timeLimits() {
  const node = h("select", { id: "time-limit", onchange: () => update({ timeLimit: Number(node.value) }) });
  function sync() {
    const most = state.mostTime;
    const now = Math.min(state.timeLimit, most);
    const choices = [5, 10, 30, 60, 120, 300, 600, now, most].filter((seconds) => seconds <= most && Number.isFinite(seconds));
    put(node, [...new Set(choices)].sort((a, b) => a - b).map((seconds) => h("option", { value: seconds, text: duration(seconds) })));
    node.value = String(now);
  }
  return { node, sync };
}

/** Ask about the plan as it stands, as soon as it is checked: for Enter in one of its fields. */
export function askWhenChecked() {
  entered = true;
  askEntered();
}
let entered = false;
let askEntered = () => {};

export function startExplanation() {
  const asking = (about) => async (event) => {
    const answered = explain(about);
    leadTo(event, answered, firstAnswer);
    const panel = byId("explanation-panel");
    bringIntoView(panel);
    // The answer may need more room than the question did.
    const at = window.scrollY;
    answered.then(() => { if (window.scrollY === at) bringIntoView(panel); });
  };
  const opening = openingCard();
  startOpening();
  const change = button("What would change the plan?", asking("any"), { class: "button primary", id: "ask-any" });
  const go = button("Why not mine?", asking("mine"), { class: "button primary", id: "ask" });
  askEntered = () => {
    if (!entered || !state.check) return;
    entered = false;
    if (go.disabled) return;
    go.focus({ preventScroll: true });
    go.click();
  };
  const why = h("p", { class: "hint", id: "ask-note", role: "status" });
  go.setAttribute("aria-describedby", "ask-note");
  const limit = timeLimits();
  const cards = KINDS.map(explanationCards);
  const conditions = conditionsDrawer();
  const changes = changesSlider();
  const front = frontSlot();
  const prices = pricesSlot();
  conditions.node.querySelector(".row").prepend(h("label", { class: "limit" }, h("span", { text: "search for at most" }), limit.node), changes.node);
  put(byId("ask-bar"), conditions.node);
  put(byId("front"), h("div", { class: "row" }, front.go, prices.go), prices.node, front.node);
  startDock(h("div", { class: "question" }, change, go, why));
  const pair = h("div", { class: "pair" }, cards.map((card) => card.node));
  put(byId("explanation"), opening.node, pair);
  api.health().then(({ time_limit: most }) => update({ mostTime: most })).catch(() => {});
  subscribe((changed) => {
    if (!state.scene) return;
    if (["scene", "timeLimit", "mostTime"].some((key) => changed.has(key))) limit.sync();
    if (!state.stale && (changed.has("about") || changed.has("wish") || changed.has("explanations"))) asked = wishWords();
    const blocked = planObstacle();
    const busy = KINDS.some(pending);
    const idle = KINDS.every((kind) => state.explanations[kind].state === "idle");
    const asks = (about) => busy && !state.stale && state.about === about;
    change.disabled = Boolean(obstacle()) || asks("any");
    go.disabled = Boolean(blocked) || asks("mine");
    why.textContent = blocked || (state.stale ? "Something has changed since: ask again." : busy ? "Searching …" : idle ? "The nearest context in which your plan would have been right." : "");
    why.classList.toggle("by-the-way", !blocked && !state.stale && !busy);
    byId("explanation").classList.toggle("idle", idle);
    opening.sync();
    pair.hidden = !opening.node.hidden;
    byId("dock").classList.toggle("drawing", state.drawing);
    conditions.sync();
    changes.sync();
    front.go.hidden = state.scene.features.length < 2;
    front.sync();
    prices.sync();
    for (const card of cards) card.sync();
    if (changed.has("scene")) entered = false;
    // A click on the button changes the state that is being told of.
    if (changed.has("check")) queueMicrotask(askEntered);
  });
}
