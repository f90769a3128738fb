// Keeps the decision and the check of the planner's plan in step with the controls.

import { api } from "./api.js";
import { debounced } from "./dom.js";
import { failed, onRecovery } from "./notices.js";
import { missing, state, subscribe, update } from "./state.js";

let deciding = null;
let checking = null;
/** Why the plan cannot be carried out, as far as the page itself can tell: null or a sentence. */
let problemOf = () => null;

/** Let `problem(plan)` judge plans before the server does. */
export function judgeBy(problem) {
  problemOf = problem;
}

/** Why nothing can be decided in the context as it is, or an empty text. */
const lacking = () => missing().map((name) => `${name} needs a number.`).join(" ");

async function decide() {
  deciding?.abort();
  if (lacking()) {
    update({ deciding: false, decision: null, decideError: lacking() });
    return;
  }
  deciding = new AbortController();
  const { signal } = deciding;
  update({ deciding: true });
  try {
    const decision = await api.decide(state.scene.id, state.context, signal);
    if (!signal.aborted) update({ decision, deciding: false, decideError: null });
  } catch (error) {
    if (!signal.aborted) update({ deciding: false, decision: null, decideError: failed(error) });
  }
}

async function check() {
  checking?.abort();
  checking = new AbortController();
  const { signal } = checking;
  if (state.plan === null || state.plan === undefined) {
    update({ check: null });
    return;
  }
  const reason = problemOf(state.plan);
  if (reason) {
    update({ check: { feasible: false, incomplete: Array.isArray(state.plan) && state.plan.includes(null), reason } });
    return;
  }
  if (lacking()) {
    update({ check: null });
    return;
  }
  try {
    const answer = await api.check(state.scene.id, state.context, state.plan, signal);
    if (!signal.aborted) update({ check: answer });
  } catch (error) {
    if (!signal.aborted) update({ check: { feasible: false, unchecked: true, reason: failed(error) } });
  }
}

const decideSoon = debounced(decide, 60);
const checkSoon = debounced(check, 60);

export function startDecisions() {
  subscribe((changed) => {
    if (!state.scene) return;
    if (changed.has("scene") || changed.has("context")) decideSoon();
    if (changed.has("scene") || changed.has("context") || changed.has("plan")) checkSoon();
  });
  onRecovery(() => {
    if (!state.scene) return;
    decide();
    check();
  });
}
