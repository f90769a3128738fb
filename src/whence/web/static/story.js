// The scene's own text tells of the context and the plan it starts with: as soon as others are shown, the page says so.

import { byId } from "./dom.js";
import { listed, value } from "./format.js";
import { shownChanges, shownContext, shownThen, state, subscribe } from "./state.js";

/** More changes than this are counted, not named. */
const NAMED = 3;

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const alike = (a, b) => a === b || (typeof a !== "string" && typeof b !== "string" && Number(a) === Number(b) && a !== null && b !== null);

function differences() {
  const shown = shownContext();
  const changes = shownChanges();
  const then = state.stage === "then" && shownThen();
  return state.scene.features.filter(({ name }) => !alike(shown[name], state.scene.context[name])).map((feature) => {
    const { name } = feature;
    const now = then && changes.has(name) ? changes.get(name).words : value(shown[name], feature, 9);
    return `${name} is ${now} (was ${value(state.scene.context[name], feature)})`;
  });
}

function told() {
  const changed = differences();
  const other = state.scene.alternative !== null && !same(state.plan, state.scene.alternative);
  if (!changed.length && !other) return "";
  const named = changed.length > NAMED ? [...changed.slice(0, NAMED - 1), `${changed.length - NAMED + 1} more have changed`] : changed;
  const where = state.stage === "then" && shownThen() ? "In the context found, " : "Now ";
  const context = changed.length ? `${where}${listed(named)}.` : "";
  // Only where somebody has a plan in mind is there a story to tell.
  const story = state.scene.alternative === null ? "" : "This is no longer the example as described. ";
  return `${story}${context}${other ? ` Your plan is another one${changed.length ? " as well" : ""}.` : ""}`;
}

export function startStory() {
  subscribe((changed) => {
    if (!state.scene || !["scene", "context", "plan", "stage", "selected", "answer", "picked", "explanations", "stale"].some((key) => changed.has(key))) return;
    const text = state.scene.question ? told() : "";
    byId("question-note").textContent = text;
    byId("question-note").hidden = !text;
  });
}
