// Searches: asked for, followed while they run, cancelled; what they found stays.

import { api, ApiError } from "./api.js";
import { conditionsAsked } from "./conditions.js";
import { failed } from "./notices.js";
import { answersOf, hasWish, KINDS, setExplanation, state, thenOf, update } from "./state.js";

const RETRIES = 4;
/** Seconds after which the server is asked for news at the latest. */
const WAIT = 2;

/** Answers that arrive late belong to a round that is over. */
let round = 0;

/** Searches that the server may still be at. */
const open = new Set();

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function submit(kind, question, mine) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await api.explain(state.scene.id, { ...question, kind });
    } catch (error) {
      if (!(error instanceof ApiError) || error.kind !== "busy" || attempt >= RETRIES) throw error;
      if (mine !== round) return null;
      setExplanation(kind, { state: "busy" });
      await pause(Math.min(error.retryAfter, 5));
      if (mine !== round) return null;
    }
  }
}

async function follow(kind, first, mine) {
  let job = first;
  let nearest = null;
  while (job.state === "queued" || job.state === "running") {
    job = await api.job(job.job, WAIT, nearest !== null);
    if (mine !== round) return;
    const { state: was, progress } = job;
    nearest = job.nearest ?? nearest;
    const cancelling = state.explanations[kind].cancelling;
    if (was === "queued" || was === "running") setExplanation(kind, { state: was, job: job.job, ahead: job.ahead, progress, nearest, cancelling });
  }
  if (mine !== round) return;
  if (job.state === "failed") {
    setExplanation(kind, { state: "error", error: job.error ?? "The search failed." });
    return;
  }
  setExplanation(kind, { state: job.state, job: job.job, progress: job.progress, nearest: job.nearest, result: job.result });
}

async function run(kind, question, mine) {
  let job = null;
  try {
    job = await submit(kind, question, mine);
    if (!job) return;
    if (mine !== round) {
      // Nobody waits for it any more: it must not stand before what is asked next.
      api.cancel(job.job).catch(() => {});
      return;
    }
    open.add(job.job);
    setExplanation(kind, { state: job.state, job: job.job, ahead: job.ahead, progress: job.progress });
    await follow(kind, job, mine);
  } catch (error) {
    if (mine !== round) return;
    const lost = error instanceof ApiError && (error.kind === "offline" || error.status === 404);
    const said = lost ? "The search was lost: the server went away while it ran. Ask again." : failed(error);
    if (lost) failed(error);
    setExplanation(kind, { state: "error", error: said });
  } finally {
    if (job && mine === round) open.delete(job.job);
  }
}

/** What a question is about, as it is sent: a plan, or a set of plans. */
const SUBJECTS = {
  mine: () => ({ plan: state.plan }),
  any: () => ({ instead: "any" }),
  set: () => ({ instead: state.wish }),
};

/** The kinds that there are of a question: the best of all plans is always optimal. */
export const kindsOf = (about) => (about === "any" ? ["relative"] : KINDS);

/** Ask for the explanations of `kinds` about something, for everything as it is set now. */
export async function explain(about = "mine", kinds = kindsOf(about)) {
  if (about === "set" && !hasWish()) return;
  round += 1;
  const mine = round;
  const question = {
    context: state.context,
    ...SUBJECTS[about](),
    fixed: state.locks,
    bounds: state.limits,
    time_limit: state.timeLimit,
    ...conditionsAsked(about),
  };
  drop();
  update({
    about,
    selected: kindsOf(about).includes(state.selected) ? state.selected : "relative",
    explanations: Object.fromEntries(KINDS.map((kind) => [kind, { state: kinds.includes(kind) ? "queued" : "idle" }])),
    stale: false,
    answer: "turns",
    stage: "today",
  });
  await Promise.all(kinds.map((kind) => run(kind, question, mine)));
  if (mine !== round) return;
  // Show the one that has found something, if only one has.
  const found = KINDS.filter((kind) => Object.values(answersOf(state.explanations[kind])).some(thenOf));
  if (found.length && !found.includes(state.selected)) update({ selected: found[0] });
}

/** Whether a search is on its way. */
export function pending(kind) {
  return ["busy", "queued", "running"].includes(state.explanations[kind].state);
}

/** Stop one search; what it has found so far comes back with it. */
export async function cancel(kind) {
  const entry = state.explanations[kind];
  if (!entry.job) return;
  setExplanation(kind, { ...entry, cancelling: true });
  try {
    await api.cancel(entry.job);
  } catch (error) {
    failed(error);
  }
}

/** Forget all searches, as when another scene is opened. */
export function forget() {
  round += 1;
  drop();
}

function drop() {
  for (const job of open) api.cancel(job).catch(() => {});
  open.clear();
}

// A closed tab takes its searches with it; the server would go on for nobody.
window.addEventListener("pagehide", () => {
  for (const job of open) api.abandon(job);
});
