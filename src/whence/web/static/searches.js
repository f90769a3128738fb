// One search from the question to the answer, whatever it is about: asked for, followed while it runs, cancelled.

import { ApiError } from "./api.js";
import { failed } from "./notices.js";

const RETRIES = 4;
/** Seconds after which the server is asked for news at the latest. */
const WAIT = 2;

const ON_ITS_WAY = ["queued", "running"];
/** All lines of questions: a closed tab takes their searches with it. */
const lines = new Set();

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Whether an entry is about a search on its way. */
export const isPending = (entry) => entry.state === "busy" || ON_ITS_WAY.includes(entry.state);

/**
 * A line of questions of which only the latest round counts; `address` has the calls {look, cancel, abandon} for a job.
 *
 * A round is begun with `begin()`. Every question of it is `run(slot, mine)`, with a slot of {ask, get, set}: how it is asked,
 * and the entry that says how far it has come.
 */
export function questionLine(address) {
  // Answers that arrive late belong to a round that is over.
  let round = 0;
  const open = new Set();
  const drop = () => {
    for (const job of open) address.cancel(job).catch(() => {});
    open.clear();
  };
  const line = { open, address };
  lines.add(line);

  async function submit({ ask, set }, mine) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof ApiError) || error.kind !== "busy" || attempt >= RETRIES) throw error;
        if (mine !== round) return null;
        set({ state: "busy" });
        await pause(Math.min(error.retryAfter, 5));
        if (mine !== round) return null;
      }
    }
  }

  async function follow({ get, set }, first, mine) {
    let job = first;
    let nearest = null;
    while (ON_ITS_WAY.includes(job.state)) {
      job = await address.look(job.job, WAIT, nearest !== null);
      if (mine !== round) return;
      const { state: was, progress } = job;
      nearest = job.nearest ?? nearest;
      if (ON_ITS_WAY.includes(was)) set({ state: was, job: job.job, ahead: job.ahead, progress, nearest, cancelling: get().cancelling });
    }
    if (mine !== round) return;
    if (job.state === "failed") set({ state: "error", error: job.error ?? "The search failed." });
    else set({ state: job.state, job: job.job, progress: job.progress, nearest: job.nearest, result: job.result });
  }

  return {
    /** Begin another round: what was asked before is given up. Its number. */
    begin() {
      round += 1;
      drop();
      return round;
    },
    isOver: (mine) => mine !== round,
    async run(slot, mine) {
      let job = null;
      try {
        job = await submit(slot, mine);
        if (!job) return;
        if (mine !== round) {
          // Nobody waits for it any more: it must not stand before what is asked next.
          address.cancel(job.job).catch(() => {});
          return;
        }
        open.add(job.job);
        slot.set({ state: job.state, job: job.job, ahead: job.ahead, progress: job.progress });
        await follow(slot, job, mine);
      } catch (error) {
        if (mine !== round) return;
        const lost = error instanceof ApiError && (error.kind === "offline" || error.status === 404);
        const said = lost ? "The search was lost: the server went away while it ran. Ask again." : failed(error);
        if (lost) failed(error);
        slot.set({ state: "error", error: said });
      } finally {
        if (job && mine === round) open.delete(job.job);
      }
    },
    /** Stop the search of a slot; what it has found so far comes back with it. */
    async cancel({ get, set }) {
      const entry = get();
      if (!entry.job) return;
      set({ ...entry, cancelling: true });
      try {
        await address.cancel(entry.job);
      } catch (error) {
        failed(error);
      }
    },
  };
}

// The server would go on for nobody.
window.addEventListener("pagehide", () => {
  for (const { open, address } of lines) for (const job of open) address.abandon(job);
});
