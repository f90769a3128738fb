// Other questions about the same decision: asked for, followed and cancelled; each has a line of its own.

import { api } from "./api.js";
import { conditionsOfForecasts, conditionsOfSeveral } from "./conditions.js";
import { kindsOf, SUBJECTS } from "./jobs.js";
import { obstacle, planObstacle } from "./obstacles.js";
import { isPending, questionLine } from "./searches.js";
import { hasWish, KINDS, OTHERS, setOther, state, update } from "./state.js";
import { wishWords } from "./wish.js";

const lines = Object.fromEntries(OTHERS.map((name) => [name, questionLine({ look: api.answer, cancel: api.cancelAnswer, abandon: api.abandonAnswer })]));

/** All that a question with several answers may be about: [about, kind]. */
export const subjects = () => ["mine", "any", "set"].filter((about) => about !== "set" || hasWish())
  .flatMap((about) => KINDS.filter((kind) => kindsOf(about).includes(kind)).map((kind) => [about, kind]));

/** What the questions are about: what was chosen, or else what was explained last, as far as it can be asked about. */
export function subject() {
  const [about, kind] = state.subject ?? [state.about, state.selected];
  const known = subjects().find(([one, other]) => one === about && other === kind);
  const lacksPlan = about === "mine" && !state.subject && (state.plan === null || state.plan === undefined);
  return known && !lacksPlan ? known : ["any", "relative"];
}

const SUBJECT = {
  "mine relative": () => "your plan, better than the decision",
  "mine absolute": () => "your plan, best of all plans",
  "any relative": () => "any other plan",
  "set relative": () => `${wishWords()}, better than the decision`,
  "set absolute": () => `${wishWords()}, best of all plans`,
};

/** What questions are about, in words. */
export const subjectWords = (about, kind) => SUBJECT[`${about} ${kind}`]();

/** Questions that are not about plans. */
const WITHOUT_PLAN = ["compare", "forecast", "rules"];

/** Why such a question cannot be asked at the moment, or an empty text. */
export const otherObstacle = (name) => (name === "prices" || (!WITHOUT_PLAN.includes(name) && subject()[0] === "mine") ? planObstacle() : obstacle());

const slotOf = (name, question = {}, about = {}) => ({
  ask: () => api.ask(name, state.scene.id, question),
  get: () => state.others[name],
  set: (entry) => setOther(name, { ...about, ...entry }),
});

/** Ask one of the questions, for everything as it is set now; a comparison is with the context `given`, a forecast asked to be `given`. */
export async function askOther(name, given = null) {
  if (otherObstacle(name)) return;
  const mine = lines[name].begin();
  const [about, kind] = subject();
  const limits = { time_limit: state.timeLimit };
  const where = { context: state.context, fixed: state.locks, bounds: state.limits, ...limits };
  const [question, of] = {
    compare: () => [{ before: given, after: state.context, ...limits }, { about: "any", before: given }],
    prices: () => [{ context: state.context, plan: state.plan, ...limits }, { about: "mine" }],
    rules: () => [limits, { about: "any" }],
    forecast: () => [{ ...where, ...given, ...conditionsOfForecasts() }, { about: "any", wanted: given }],
  }[name]?.() ?? [{ ...where, ...SUBJECTS[about](), kind, ...conditionsOfSeveral() }, { about, kind, words: subjectWords(about, kind) }];
  setOther(name, { ...of, state: "queued", stale: false });
  if (state.picked) update({ picked: null, stage: "today" });
  await lines[name].run(slotOf(name, question, of), mine);
}

/** Whether an answer is on its way. */
export const pendingOther = (name) => isPending(state.others[name]);

/** Stop one search; what it has found so far comes back with it. */
export const cancelOther = (name) => {
  const { about, kind, words, before, wanted } = state.others[name];
  return lines[name].cancel(slotOf(name, {}, { about, kind, words, before, wanted }));
};

/** Forget all searches, as when another scene is opened. */
export function forgetOthers() {
  for (const line of Object.values(lines)) line.begin();
}
