// The explanation panel: ask, follow both searches, read both answers side by side.

import { api } from "./api.js";
import { startDock } from "./dock.js";
import { button, byId, h, icon, put } from "./dom.js";
import { count, duration, plain } from "./format.js";
import { cancel, explain, pending } from "./jobs.js";
import { announce } from "./notices.js";
import { term } from "./terms.js";
import { ask, KINDS, missing, state, subscribe, thenOf, update } from "./state.js";

const TEXTS = {
  relative: ["Better than the decision", "Where would your plan have been at least as good as the decision?"],
  absolute: ["Best of all plans", "Where would no plan at all have been better than yours?"],
};
const BADGES = {
  optimal: ["good", "check", "Proved nearest"],
  already: ["good", "check", "Holds already"],
  none: ["plain", "check", "Proved: none exists"],
  time_limit: ["open", "warn", "Time is up: best so far"],
  interrupted: ["open", "warn", "Stopped: best so far"],
};
/** Lines of the certificate with a word that needs one. */
const NAMED = { distance: "distance", "boxes or nodes searched": "boxes" };
const NOTHING_YET = { time_limit: "Time is up: nothing found", interrupted: "Stopped: nothing found yet" };

/** Why there is nothing to ask at the moment, or an empty text. */
function obstacle() {
  if (!state.online) return "The server does not answer.";
  if (state.drawing) return "Finish your route first.";
  if (state.plan === null || state.plan === undefined) return "Make a plan of your own first.";
  if (missing().length) return `${missing()[0]} needs a number.`;
  if (!state.decision) return state.decideError ? "There is no decision to ask about." : "The decision is on its way.";
  if (!state.check) return "Your plan is being checked.";
  if (state.check.unchecked) return "Your plan could not be checked.";
  if (state.check.incomplete) return "Your plan is not complete.";
  if (!state.check.feasible) return "Your plan cannot be carried out; see the reason beside it.";
  const unread = Object.entries(state.limits).find(([, limit]) => limit.some(Number.isNaN));
  if (unread) return `A limit of ${unread[0]} is no number.`;
  const wrong = Object.entries(state.limits).find(([, limit]) => limit.length === 2 && typeof limit[0] === "number" && typeof limit[1] === "number" && limit[0] > limit[1]);
  if (wrong) return `The limits of ${wrong[0]} exclude each other.`;
  return "";
}

/** The lines of an answer, the verdict first; both plans are on the page already. */
function linesOf({ verdict, staying, exact, costs, certainty, remedy }) {
  return [verdict, staying, exact, costs, certainty, remedy].flatMap((text) => text.split("\n")).filter(Boolean);
}

function spoken(shown) {
  const [verdict, ...rest] = linesOf(shown);
  const items = rest.filter((line) => line.startsWith("  - "));
  return [h("p", { class: "verdict", text: verdict }),
    items.length > 0 && h("ul", {}, items.map((line) => h("li", { text: line.slice(4) }))),
    rest.filter((line) => !line.startsWith("  - ")).map((line) => h("p", { text: line.trim() }))];
}

function certificate(found) {
  return h("details", { class: "certificate" }, h("summary", { text: "Certificate" }),
    h("dl", {}, found.shown.certificate
      .map(([name, text]) => h("div", {}, h("dt", {}, NAMED[name] ? term(NAMED[name], name) : name), h("dd", { text })))),
    found.context && h("p", { class: "hint", text: "Computed once more from the fitted model and the decision problem before it was shown." }));
}

/** Switch the whole page to the context that was found, or back. */
function showOnPage(kind, then) {
  update({ selected: kind, stage: then ? "then" : "today" });
  document.querySelector(`[data-kind="${kind}"] .answer .button`)?.focus({ preventScroll: true });
  if (then) byId("plan-panel").scrollIntoView({ behavior: "smooth", block: "start" });
}

function answer(kind, entry) {
  const { explanation: found } = entry.result;
  const then = thenOf(entry.result);
  const [tone, picture, said] = BADGES[found.status] ?? ["plain", "check", found.status];
  const text = (!found.context && NOTHING_YET[found.status]) || said;
  const shown = state.selected === kind && state.stage === "then";
  return [
    h("p", { class: `badge ${tone}` }, icon(picture), h("span", { text }),
      Number.isFinite(found.distance) && found.status !== "already" && h("span", { class: "distance" }, term("distance"), ` ${plain(found.distance, 4)}`)),
    h("div", { class: "spoken" }, spoken(found.shown)),
    then && h("div", { class: "row" },
      button(shown ? "Back to today" : "Show it", () => showOnPage(kind, !shown), { icon: shown ? "undo" : "play" }),
      button("Set the controls to it", () => ask({ context: { ...then.context } }), { class: "button quiet" })),
    certificate(found),
    h("div", { class: "row downloads" },
      h("a", { class: "button", href: api.report(entry.job), download: `${state.scene.id}-${kind}.html` }, icon("down"), h("span", { text: "Report (HTML)" })),
      h("a", { class: "button", href: api.data(entry.job), download: `${state.scene.id}-${kind}.json` }, icon("down"), h("span", { text: "Data (JSON)" }))),
  ];
}

/** What keeps a search waiting, or an empty text where it runs. */
function waitingText(entry) {
  if (entry.cancelling) return "Stopping; what was found stays.";
  if (entry.state === "busy") return "All searches are busy; yours is tried again in a moment.";
  if (entry.state === "queued") return entry.ahead ? `Waiting: ${entry.ahead} before this one.` : "Starting …";
  return "";
}

/** How far a search has come, in a line whose words stay where they are while its numbers change. */
function progressLine() {
  const [lead, middle, tail] = [h("span"), h("span"), h("span")];
  const [boxes, far] = [term("boxes"), term("distance")];
  const node = h("p", { class: "progress-text" }, lead, boxes, middle, far, tail);
  function sync(entry) {
    const waits = waitingText(entry);
    const { nodes = 0, distance, bound, seconds = 0 } = entry.progress ?? {};
    const found = Number.isFinite(distance);
    boxes.hidden = Boolean(waits);
    far.hidden = Boolean(waits) || !found;
    lead.textContent = waits || `${count(nodes)} `;
    middle.textContent = waits ? "" : ` searched in ${duration(seconds)}: ${found ? "best at " : "none found yet"}`;
    tail.textContent = waits ? "" : `${found ? ` ${plain(distance, 4)}` : ""}${Number.isFinite(bound) ? `, none nearer than ${plain(bound, 3)}` : ""}.`;
  }
  return { node, sync };
}

function explanationCard(kind) {
  const [title, question] = TEXTS[kind];
  const line = progressLine();
  const stop = button("Cancel", () => cancel(kind), { icon: "cross", label: `Cancel the search: ${title}` });
  const meter = h("div", { class: "progress" }, h("div", { class: "progress-track", "aria-hidden": "true" }, h("i")), line.node, stop);
  const body = h("div", { class: "answer" });
  const node = h("section", { class: "card explanation-card", "aria-label": title, "data-kind": kind },
    h("h3", { text: title }), h("p", { class: "hint", text: question }), meter, body);
  let drawn = "";
  let told = "";

  function sync() {
    const entry = state.explanations[kind];
    const busy = pending(kind);
    node.classList.toggle("selected", state.selected === kind && Boolean(thenOf(entry.result)) && !state.stale);
    node.classList.toggle("stale", state.stale);
    node.setAttribute("aria-busy", String(busy));
    meter.hidden = !busy;
    if (busy) {
      line.sync(entry);
      stop.disabled = !entry.job || Boolean(entry.cancelling);
    }
    const mark = [entry.state, entry.job, state.selected, state.stage, busy].join();
    if (mark === drawn) return;
    drawn = mark;
    if (busy) put(body);
    else if (entry.result) {
      put(body, answer(kind, entry));
      // Once, not with every switch between today and then.
      if (entry.job !== told) announce(`${title}: ${linesOf(entry.result.explanation.shown)[0]}`);
      told = entry.job;
    }
    else if (entry.state === "cancelled") put(body, h("p", { class: "soft", text: "Stopped before anything was found." }));
    else if (entry.state === "error") put(body, h("p", { class: "reason" }, icon("warn"), h("span", { text: entry.error })));
    else put(body, h("p", { class: "soft", text: "Not asked yet." }));
  }
  return { node, sync };
}

function timeLimits() {
  const node = h("select", { id: "time-limit", onchange: () => update({ timeLimit: Number(node.value) }) });
  function sync(most) {
    const choices = [5, 10, 30, 60, 120, 300, 600].filter((seconds) => seconds <= most);
    if (!choices.includes(most)) choices.push(most);
    put(node, choices.map((seconds) => h("option", { value: seconds, text: duration(seconds) })));
    node.value = String(choices.filter((seconds) => seconds <= state.timeLimit).at(-1) ?? choices[0]);
    update({ timeLimit: Number(node.value) });
  }
  return { node, sync };
}

export function startExplanation() {
  const go = button("Why not mine?", () => {
    explain();
    byId("explanation-panel").scrollIntoView({ behavior: "smooth", block: "start" });
  }, { class: "button primary", id: "ask" });
  const why = h("p", { class: "hint", id: "ask-note", role: "status" });
  go.setAttribute("aria-describedby", "ask-note");
  const limit = timeLimits();
  const cards = KINDS.map(explanationCard);
  put(byId("ask-bar"), h("label", { class: "limit" }, h("span", { text: "search for at most" }), limit.node));
  startDock(h("div", { class: "question" }, go, why));
  put(byId("explanation"), h("div", { class: "pair" }, cards.map((card) => card.node)));
  api.health().then((health) => limit.sync(health.time_limit)).catch(() => limit.sync(30));
  subscribe(() => {
    if (!state.scene) return;
    const blocked = obstacle();
    const busy = KINDS.some(pending);
    const idle = KINDS.every((kind) => state.explanations[kind].state === "idle");
    go.disabled = Boolean(blocked) || (busy && !state.stale);
    why.textContent = blocked || (state.stale ? "Something has changed since: ask again." : busy ? "Searching …" : idle ? "The nearest context in which your plan would have been right." : "");
    why.classList.toggle("by-the-way", !blocked && !state.stale && !busy);
    byId("explanation").classList.toggle("idle", idle);
    byId("dock").classList.toggle("drawing", state.drawing);
    for (const card of cards) card.sync();
  });
}
