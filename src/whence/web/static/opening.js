// What would change today's plan: asked in the background when a scene is opened, and shown until something else is asked.

import { badge, costsThere, restOf, successor } from "./answers.js";
import { api } from "./api.js";
import { button, debounced, h, put } from "./dom.js";
import { explain } from "./jobs.js";
import { obstacle } from "./obstacles.js";
import { isPending, questionLine } from "./searches.js";
import { isPicked, waysThere } from "./slot.js";
import { KINDS, state, subscribe, thenOf, update } from "./state.js";

/** Seconds that it may take. */
const SECONDS = 3;

const line = questionLine({ look: api.job, cancel: api.cancel, abandon: api.abandon });
const idle = () => KINDS.every((kind) => state.explanations[kind].state === "idle");

async function ask() {
  const { scene } = state;
  if (!scene || !idle() || obstacle()) return;
  const mine = line.begin();
  const slot = {
    ask: () => api.explain(scene.id, { context: state.context, fixed: state.locks, bounds: state.limits, kind: "relative", time_limit: SECONDS, holds: false }),
    get: () => state.opening,
    set: (entry) => { if (state.scene === scene) update({ opening: entry }); },
  };
  slot.set({ state: "queued" });
  await line.run(slot, mine);
}

const askSoon = debounced(ask, 400);

/** The card with the answer: {node, sync()}; hidden where something else was asked, or nothing came of it. */
export function openingCard() {
  const body = h("div", { class: "answer" });
  const node = h("section", { class: "card explanation-card opening", "aria-label": "What would change today’s plan?", tabindex: "-1" }, h("h3", { text: "What would change today’s plan?" }), body);
  let drawn = null;
  let mark = "";

  function content(result) {
    const { explanation: found } = result;
    return [badge(found), h("p", { class: "verdict", text: found.shown.verdict }), costsThere(result),
      thenOf(result) && found.among && successor(result.then.alternative),
      h("p", { class: "soft" }, "How often such answers are true is not known yet. ", button("Find out", () => explain("any"), { class: "as-link", label: "Find out how far to rely on it" })),
      waysThere(result, "any", "the context in which the plan changes"), restOf(found)];
  }

  return {
    node,
    sync() {
      const { opening } = state;
      const result = opening.state === "done" || opening.state === "cancelled" ? opening.result : null;
      node.hidden = !idle() || !(result || isPending(opening));
      node.setAttribute("aria-busy", String(isPending(opening)));
      const now = [opening.state, isPicked(result), state.stage].join();
      if (node.hidden || (result === drawn && now === mark)) return;
      [drawn, mark] = [result, now];
      put(body, result ? content(result) : h("p", { class: "soft", text: "Looking for it …" }));
    },
  };
}

export function startOpening() {
  subscribe((changed) => {
    if (!state.scene) return;
    if (!idle()) {
      // Something else was asked: this one must not stand before it.
      if (isPending(state.opening)) { line.begin(); update({ opening: { state: "idle" } }); }
      return;
    }
    if (["scene", "context", "locks", "limits"].some((key) => changed.has(key)) && !changed.has("opening")) {
      line.begin();
      update({ opening: { state: "idle" } });
    }
    if (["decision", "locks", "limits", "online"].some((key) => changed.has(key)) && state.decision && !state.deciding) askSoon();
  });
}
