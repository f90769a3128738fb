// The explanation panel: ask, follow both searches, read both answers side by side.

import { api } from "./api.js";
import { button, byId, h, icon, put } from "./dom.js";
import { count, duration, plain, withUnit } from "./format.js";
import { cancel, explain, pending } from "./jobs.js";
import { announce } from "./notices.js";
import { ask, KINDS, state, subscribe, thenOf, update } from "./state.js";

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
const NOTHING_YET = { time_limit: "Time is up: nothing found", interrupted: "Stopped: nothing found yet" };

/** Why there is nothing to ask at the moment, or an empty text. */
function obstacle() {
  if (!state.online) return "The server does not answer.";
  if (state.drawing) return "Finish your route first.";
  if (state.plan === null || state.plan === undefined) return "Make a plan of your own first.";
  if (!state.decision) return state.decideError ? "There is no decision to ask about." : "The decision is on its way.";
  if (!state.check) return "Your plan is being checked.";
  if (state.check.unchecked) return "Your plan could not be checked.";
  if (!state.check.feasible) return "Your plan cannot be carried out; see the reason beside it.";
  const wrong = Object.entries(state.limits).find(([, limit]) => limit.length === 2 && typeof limit[0] === "number" && typeof limit[1] === "number" && limit[0] > limit[1]);
  if (wrong) return `The limits of ${wrong[0]} exclude each other.`;
  return "";
}

/** The lines of an answer: the verdict by itself, then the rest; both plans are on the page already. */
export function paragraphs(sentence) {
  const lines = sentence.split("\n").filter((line) => !/^(Decision|Your plan): /.test(line));
  const at = lines[0]?.search(/ (Nothing else has to change: |The other \d+ features stay )/) ?? -1;
  const first = at > 0 ? [lines[0].slice(0, at), lines[0].slice(at + 1)] : [lines[0] ?? ""];
  return [...first, ...lines.slice(1)].filter(Boolean);
}

function spoken(sentence) {
  const [verdict, ...rest] = paragraphs(sentence);
  const items = rest.filter((line) => line.startsWith("  - "));
  return [h("p", { class: "verdict", text: verdict }),
    items.length > 0 && h("ul", {}, items.map((line) => h("li", { text: line.slice(4) }))),
    rest.filter((line) => !line.startsWith("  - ")).map((line) => h("p", { text: line.trim() }))];
}

function certificate(found) {
  const entries = [
    ["status", found.status], ["distance", plain(found.distance, 9)], ["proved lower bound", plain(found.bound, 9)],
    ["gap", plain(found.distance === found.bound ? 0 : found.distance - found.bound, 3)], ["risk", found.risk],
    ["tolerance on costs", withUnit(plain(found.tolerance, 3), found.cost_unit)], ["engine", found.engine],
    ["boxes or nodes searched", count(found.nodes ?? 0)], ["time", duration(found.seconds ?? 0)],
    ["rival plans met", found.kind === "absolute" ? found.cuts : null],
    ["separation of neighbours", found.separation], ["note", found.note],
  ];
  const infinite = (name, value) => (value === "unknown" && ["distance", "proved lower bound"].includes(name) ? "infinite" : String(value));
  return h("details", { class: "certificate" }, h("summary", { text: "Certificate" }),
    h("dl", {}, entries.filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => h("div", {}, h("dt", { text: name }), h("dd", { text: infinite(name, value) })))),
    found.context && h("p", { class: "hint", text: "Computed once more from the fitted model and the decision problem before it was shown." }));
}

/** Switch the whole page to the context that was found, or back. */
function showOnPage(kind, then) {
  update({ selected: kind, stage: then ? "then" : "today" });
  document.querySelector(`[data-kind="${kind}"] .answer .button`)?.focus({ preventScroll: true });
  if (then) byId("plan-panel").scrollIntoView({ behavior: "smooth", block: "start" });
}

function answer(kind, entry) {
  const { explanation: found, sentence } = entry.result;
  const then = thenOf(entry.result);
  const [tone, picture, said] = BADGES[found.status] ?? ["plain", "check", found.status];
  const text = (!found.context && NOTHING_YET[found.status]) || said;
  const shown = state.selected === kind && state.stage === "then";
  return [
    h("p", { class: `badge ${tone}` }, icon(picture), h("span", { text }),
      Number.isFinite(found.distance) && found.status !== "already" && h("span", { class: "distance", text: `distance ${plain(found.distance, 4)}` })),
    h("div", { class: "spoken" }, spoken(sentence)),
    then && h("div", { class: "row" },
      button(shown ? "Back to today" : "Show it", () => showOnPage(kind, !shown), { icon: shown ? "undo" : "play" }),
      button("Set the controls to it", () => ask({ context: { ...then.context } }), { class: "button quiet" })),
    certificate(found),
    h("div", { class: "row downloads" },
      h("a", { class: "button", href: api.report(entry.job), download: `${state.scene.id}-${kind}.html` }, icon("down"), h("span", { text: "Report (HTML)" })),
      h("a", { class: "button", href: api.data(entry.job), download: `${state.scene.id}-${kind}.json` }, icon("down"), h("span", { text: "Data (JSON)" }))),
  ];
}

function progressText(entry) {
  if (entry.state === "busy") return "All searches are busy; yours is tried again in a moment.";
  if (entry.warming) return "The search is being made ready.";
  if (entry.state === "queued") return entry.ahead ? `Waiting: ${entry.ahead} before this one.` : "Starting …";
  const { nodes = 0, distance, bound, seconds = 0 } = entry.progress ?? {};
  const best = Number.isFinite(distance) ? `best at distance ${plain(distance, 4)}` : "none found yet";
  const floor = Number.isFinite(bound) ? `, none nearer than ${plain(bound, 3)}` : "";
  return `${count(nodes)} boxes searched in ${duration(seconds)}: ${best}${floor}.`;
}

function explanationCard(kind) {
  const [title, question] = TEXTS[kind];
  const text = h("p", { class: "progress-text" });
  const stop = button("Cancel", () => cancel(kind), { icon: "cross", label: `Cancel the search: ${title}` });
  const meter = h("div", { class: "progress" }, h("div", { class: "progress-track", "aria-hidden": "true" }, h("i")), text, stop);
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
      text.textContent = entry.cancelling ? "Stopping; what was found stays." : progressText(entry);
      stop.disabled = !entry.job || Boolean(entry.cancelling);
    }
    const mark = [entry.state, entry.job, state.selected, state.stage, busy].join();
    if (mark === drawn) return;
    drawn = mark;
    if (busy) put(body);
    else if (entry.result) {
      put(body, answer(kind, entry));
      // Once, not with every switch between today and then.
      if (entry.job !== told) announce(`${title}: ${paragraphs(entry.result.sentence)[0]}`);
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
    byId("explanation-panel").scrollIntoView({ behavior: "smooth", block: "nearest" });
  }, { class: "button primary", id: "ask" });
  const why = h("p", { class: "hint", id: "ask-note", role: "status" });
  go.setAttribute("aria-describedby", "ask-note");
  const limit = timeLimits();
  const cards = KINDS.map(explanationCard);
  put(byId("ask-bar"), go, why, h("label", { class: "limit" }, h("span", { text: "search for at most" }), limit.node));
  put(byId("explanation"), h("div", { class: "pair" }, cards.map((card) => card.node)));
  api.health().then((health) => limit.sync(health.time_limit)).catch(() => limit.sync(30));
  subscribe(() => {
    if (!state.scene) return;
    const blocked = obstacle();
    const busy = KINDS.some(pending);
    const idle = KINDS.every((kind) => state.explanations[kind].state === "idle");
    go.disabled = Boolean(blocked) || (busy && !state.stale);
    why.textContent = blocked || (state.stale ? "Something has changed since: ask again." : busy ? "Searching …" : idle ? "The nearest context in which your plan would have been right." : "");
    byId("explanation").classList.toggle("idle", idle);
    for (const card of cards) card.sync();
  });
}
