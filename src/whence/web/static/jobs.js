// Explanations: asked for, followed while they are searched for, cancelled; what was found stays.

import { api } from "./api.js";
import { conditionsAsked } from "./conditions.js";
import { isPending, questionLine } from "./searches.js";
import { answersOf, hasWish, KINDS, plannedIn, setExplanation, state, thenOf, update } from "./state.js";

const line = questionLine({ look: api.job, cancel: api.cancel, abandon: api.abandon });

/** What a question is about, as it is sent: a plan, or a set of plans. */
export const SUBJECTS = {
  mine: () => ({ plan: state.plan, ...(plannedIn.has(state.plan) ? { known: plannedIn.get(state.plan) } : {}) }),
  any: () => ({ instead: "any" }),
  set: () => ({ instead: state.wish }),
};

/** The kinds that there are of a question: the best of all plans is always optimal. */
export const kindsOf = (about) => (about === "any" ? ["relative"] : KINDS);

const slotOf = (kind, question) => ({
  ask: () => api.explain(state.scene.id, { ...question, kind }),
  get: () => state.explanations[kind],
  set: (entry) => setExplanation(kind, entry),
});

/** Ask for the explanations of `kinds` about something, for everything as it is set now. */
export async function explain(about = "mine", kinds = kindsOf(about)) {
  if (about === "set" && !hasWish()) return;
  const mine = line.begin();
  const question = {
    context: state.context,
    ...SUBJECTS[about](),
    fixed: state.locks,
    bounds: state.limits,
    time_limit: state.timeLimit,
    ...conditionsAsked(),
  };
  update({
    about,
    selected: kindsOf(about).includes(state.selected) ? state.selected : "relative",
    explanations: Object.fromEntries(KINDS.map((kind) => [kind, { state: kinds.includes(kind) ? "queued" : "idle" }])),
    stale: false,
    answer: "turns",
    picked: null,
    subject: null,
    stage: "today",
  });
  await Promise.all(kinds.map((kind) => line.run(slotOf(kind, question), mine)));
  if (line.isOver(mine)) return;
  // The answer to rely on leads, unless somebody looks at another one by now.
  const relied = answersOf(state.explanations[state.selected]).holds;
  if (relied?.explanation.shown.reliable && state.stage === "today" && !state.picked) update({ answer: "holds" });
  // Show the one that has found something, if only one has.
  const found = KINDS.filter((kind) => Object.values(answersOf(state.explanations[kind])).some(thenOf));
  if (found.length && !found.includes(state.selected)) update({ selected: found[0] });
}

/** Whether a search is on its way. */
export const pending = (kind) => isPending(state.explanations[kind]);

/** Stop one search; what it has found so far comes back with it. */
export const cancel = (kind) => line.cancel(slotOf(kind));

/** Forget all searches, as when another scene is opened. */
export const forget = () => { line.begin(); };
