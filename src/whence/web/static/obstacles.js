// Why a question cannot be asked at the moment.

import { missing, state } from "./state.js";

/** Why nothing at all can be asked, or an empty text. */
export function obstacle() {
  if (!state.online) return "The server does not answer.";
  if (state.drawing) return "Finish your route first.";
  if (missing().length) return `${missing()[0]} needs a number.`;
  if (!state.decision) return state.decideError ? "There is no decision to ask about." : "The decision is on its way.";
  const unread = Object.entries(state.limits).find(([, limit]) => limit.some(Number.isNaN));
  if (unread) return `The limit of ${unread[0]} must be a number.`;
  const wrong = Object.entries(state.limits).find(([, limit]) => limit.length === 2 && typeof limit[0] === "number" && typeof limit[1] === "number" && limit[0] > limit[1]);
  if (wrong) return `The limits of ${wrong[0]} exclude each other.`;
  return "";
}

/** Why nothing can be asked about the planner's plan, or an empty text. */
export function planObstacle() {
  if (!state.online) return "The server does not answer.";
  if (state.drawing) return "Finish your route first.";
  if (state.plan === null || state.plan === undefined) return "Make a plan of your own first.";
  if (missing().length || !state.decision) return obstacle();
  if (!state.check) return "Your plan is being checked.";
  if (state.check.unchecked) return "Your plan could not be checked.";
  if (state.check.incomplete) return "Your plan is not complete.";
  if (!state.check.feasible) return "Your plan cannot be carried out; see the reason beside it.";
  return obstacle();
}
