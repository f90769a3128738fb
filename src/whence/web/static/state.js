// What the page knows, in one place; panels subscribe to it and never talk to each other.

const listeners = new Set();

export const KINDS = ["relative", "absolute"];
/** The contexts in which plans were decided, by plan: whoever asks about one hands its context over. */
export const plannedIn = new WeakMap();

/** Questions with several answers, the comparison of two contexts, and the question about a forecast. */
export const OTHERS = ["front", "menu", "reasons", "compare", "forecast", "prices", "rules"];

/** Seconds for a question where the project says nothing. */
const USUAL_SECONDS = 30;

const nothingAsked = () => ({ relative: { state: "idle" }, absolute: { state: "idle" } });
const nothingElse = () => Object.fromEntries(OTHERS.map((name) => [name, { state: "idle" }]));

export const state = {
  scenes: [],
  scene: null,
  /** Values of the controls; null where a number is missing. */
  context: {},
  /** Names of the features that cannot change. */
  locks: [],
  /** Feature to [low, high], or to the categories allowed. */
  limits: {},
  /** What the policy decides for the context, and whether that is still on its way. */
  decision: null,
  deciding: false,
  /** Feature to its verdict strip in the context that is shown, or null. */
  strips: null,
  /** The planner's plan (null: none yet), whether it is being drawn, and what the check said of it. */
  plan: null,
  drawing: false,
  check: null,
  /** What is asked of a plan where a set of them is meant, as the server takes it: {through: [...]}, {at_least: {...}}, or {}. */
  wish: {},
  /** What the explanations are about: "mine", "any" plan, or the "set" that was wished for. */
  about: "mine",
  /** What an answer must keep to: {holds, margin, plausible, changes}; as many changes as there are features are any number. */
  conditions: {},
  /** What would change today's plan, asked for without anybody's doing: {state, job, result}. */
  opening: { state: "idle" },
  /** Both explanations: {state, job, progress, nearest, result, error}. */
  explanations: nothingAsked(),
  /** Answers to the other questions: {state, about, kind, job, progress, result, error, stale}. */
  others: nothingElse(),
  /** What the other questions are about, [about, kind], where that was chosen. */
  subject: null,
  /** Whether the controls, the plan or the restrictions have changed since they were asked for. */
  stale: false,
  /** The explanation that is shown, and which of its answers: "turns" for the nearest one, "holds" for the one to rely on. */
  selected: "relative",
  answer: "turns",
  /** One of several answers that is shown in their place: {result, about}, or null. */
  picked: null,
  stage: "today",
  online: true,
  /** Seconds for a question, and the most that the server allows, once that is known. */
  timeLimit: USUAL_SECONDS,
  mostTime: Infinity,
};

/** What people call the first and the last past observation. */
export const numbers = () => [1, state.scene.observations];

/** What people call a past observation: its number, and its label where that says more. */
export const observationNamed = (past) => {
  const number = String(past.row);
  return past.label === number ? number : `${number} (${past.label})`;
};

/** Call `listener(changed)` after every update, with the names of what has changed. */
export function subscribe(listener) {
  listeners.add(listener);
}

/** Change some of the state and tell the panels. */
export function update(patch) {
  const changed = new Set(Object.keys(patch).filter((key) => state[key] !== patch[key]));
  Object.assign(state, patch);
  if (changed.size) for (const listener of listeners) listener(changed);
}

/** Change what the question is about: explanations on the page are then about an older one. */
export function ask(patch) {
  const asked = KINDS.some((kind) => state.explanations[kind].state !== "idle");
  const mattersTo = (about, keys = Object.keys(patch)) => keys.some((key) => (ABOUT[key] ?? about) === about);
  // Refits and the number of changes are not for questions with several answers.
  const several = Object.keys(patch).filter((key) => key !== "conditions" || ["margin", "plausible"].some((name) => patch.conditions[name] !== state.conditions[name]));
  const outdates = (name, { about }) => (name === "rules" ? false : name === "prices" ? ["context", "plan"].some((key) => key in patch) : name === "compare" ? "context" in patch : name === "forecast" ? mattersToForecasts(patch) : mattersTo(about, several));
  const others = Object.fromEntries(Object.entries(state.others).map(([name, entry]) => [name, entry.state !== "idle" && !entry.stale && outdates(name, entry) ? { ...entry, stale: true } : entry]));
  update({ ...patch, others, picked: null, ...(asked ? { stale: state.stale || mattersTo(state.about) } : {}), ...(asked || state.picked ? { stage: "today" } : {}) });
}

/** Whether a change is one of the context that a forecast is asked about, or of where others are looked for. */
const mattersToForecasts = (patch) => ["context", "locks", "limits"].some((key) => key in patch)
  || ("conditions" in patch && ["plausible", "changes"].some((name) => patch.conditions[name] !== state.conditions[name]));

/** What only one kind of question is about; everything else matters to all of them. */
const ABOUT = { plan: "mine", check: "mine", drawing: "mine", wish: "set" };

/** The conditions that a scene begins with. */
export const ownConditions = (scene) => ({ holds: scene.holds ?? false, margin: scene.margin ?? 0, plausible: scene.plausible ?? 0, changes: Math.min(scene.max_changes ?? Infinity, scene.features.length) });

/** Whether the scene has its answers judged by refits, and not by simulated worlds. */
export const judgedByRefits = () => ["seed", "bootstrap"].includes(state.scene?.refits);

/** What the project wishes of a plan, as far as the page can show it. */
export const ownWish = ({ instead }) => (instead && typeof instead === "object" && !("only" in instead) ? instead : {});

/** What the explanations are about at first: what the project asks about, or one's own plan. */
const ownSubject = (scene) => (scene.alternative !== null || !scene.instead ? "mine" : Object.keys(ownWish(scene)).length ? "set" : "any");

/** Start over with a scene and what is to be kept of a link, as far as it fits the scene. */
export function openScene(scene, kept = {}) {
  update({
    scene,
    timeLimit: scene.time_limit ?? USUAL_SECONDS,
    context: { ...scene.context, ...kept.context },
    locks: kept.locks ?? [],
    limits: kept.limits ?? {},
    conditions: { ...ownConditions(scene), ...kept.conditions },
    plan: kept.plan === undefined ? scene.alternative : kept.plan,
    wish: kept.wish ?? ownWish(scene),
    about: kept.about ?? ownSubject(scene),
    decision: null,
    drawing: false,
    check: null,
    explanations: nothingAsked(),
    opening: { state: "idle" },
    others: nothingElse(),
    subject: kept.subject ?? null,
    picked: null,
    stale: false,
    selected: kept.selected ?? "relative",
    answer: "turns",
    stage: "today",
  });
}

/** Change one of both explanations. */
export function setExplanation(kind, entry) {
  update({ explanations: { ...state.explanations, [kind]: entry } });
}

/** Change the answer to one of the other questions, which stays stale where it is. */
export function setOther(name, entry) {
  update({ others: { ...state.others, [name]: { stale: state.others[name].stale, ...entry } } });
}

/** Whether an answer is the one that the page shows. */
export const isShown = (kind, which) => !state.picked && state.selected === kind && state.answer === which;

/** Both answers to a question: the nearest one, and one to rely on where that is another. */
export function answersOf({ nearest, result }) {
  return { turns: nearest ?? result ?? null, holds: (nearest && result) ?? null };
}

/** The answer that is shown, or null. */
export function shownResult() {
  if (state.picked) return state.picked.result;
  if (state.stale) return null;
  const { turns, holds } = answersOf(state.explanations[state.selected]);
  return state.answer === "holds" ? holds ?? turns : turns;
}

/** The explanation that is shown: the selected one, where it has found a context. */
export function shownThen() {
  return thenOf(shownResult());
}

/** The plan that takes over where no plan of one's own was asked about: {plan, text, cost}, or null. */
export function takingOver() {
  return (state.picked ?? state).about === "mine" ? null : shownThen()?.alternative ?? null;
}

/** The plan beside the decision: one's own or, in the context found, the one that takes over there. */
export function shownPlan() {
  return (state.stage === "then" && takingOver()?.plan) || state.plan;
}

/** What that plan is called. */
export const planName = (taking = state.stage === "then" && takingOver()) => (taking ? "plan that takes over" : "your plan");

/** Whether something is wished of a plan. */
export const hasWish = () => Object.keys(state.wish).length > 0;

/** The context that the page shows: that of the controls, or the one found. */
export function shownContext() {
  return (state.stage === "then" && shownThen()?.context) || state.context;
}

/** The names of the features whose value is missing. */
export const missing = () => state.scene.features.map(({ name }) => name).filter((name) => state.context[name] === null);

/** The context that an answer has found, where it is another one. */
export function thenOf(result) {
  return result && result.explanation.status !== "already" ? result.then : null;
}

/** The features that the shown explanation changes: name to {from, to}, and how the new value is shown: {words, value}. */
export function shownChanges() {
  const result = shownResult();
  const { changes, shown } = thenOf(result) ? result.explanation : { changes: [] };
  return new Map(changes.map((change, i) => [change.feature, { ...change, words: shown.changes[i].to, value: shown.changes[i].value }]));
}
