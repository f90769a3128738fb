// The address of the page holds its whole state: scene, context, plan, locks, limits and what was asked.

import { KINDS, OTHERS, ownConditions, ownWish, state } from "./state.js";

/** The address as it was last read or written: any other was put there by the reader and is not to be overwritten. */
let known = null;

/** The state as the part of the address behind "#". */
export function linkOf() {
  if (!state.scene) return "";
  const parts = new URLSearchParams({ scene: state.scene.id, context: JSON.stringify(Object.fromEntries(Object.entries(state.context).filter(([, value]) => value !== null))) });
  if (state.plan !== null) parts.set("plan", JSON.stringify(state.plan));
  if (JSON.stringify(state.wish) !== JSON.stringify(ownWish(state.scene))) parts.set("wish", JSON.stringify(state.wish));
  if (state.locks.length) parts.set("locks", JSON.stringify(state.locks));
  const limits = Object.fromEntries(Object.entries(state.limits).filter(([, limit]) => !limit.some(Number.isNaN)));
  if (Object.keys(limits).length) parts.set("limits", JSON.stringify(limits));
  const own = ownConditions(state.scene);
  const other = Object.fromEntries(Object.entries(state.conditions).filter(([name, part]) => part !== own[name]));
  if (Object.keys(other).length) parts.set("conditions", JSON.stringify(other));
  const more = OTHERS.filter((name) => state.others[name].state !== "idle" && !state.others[name].stale);
  if (more.length) {
    parts.set("more", more.join(" "));
    const { about, kind } = more.map((name) => state.others[name]).find((entry) => entry.kind) ?? {};
    if (kind) parts.set("subject", `${about} ${kind}`);
    if (more.includes("forecast")) parts.set("forecast", JSON.stringify(state.others.forecast.wanted));
    if (more.includes("compare")) parts.set("before", JSON.stringify(state.others.compare.before));
  }
  const asked = state.stale ? [] : KINDS.filter((kind) => state.explanations[kind].state !== "idle");
  if (asked.length) {
    parts.set("asked", asked.join(" "));
    if (state.about !== "mine") parts.set("about", state.about);
    parts.set("show", state.selected);
  }
  return parts.toString();
}

const isPlain = (value) => ["string", "number", "boolean"].includes(typeof value);
const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

const isShare = (value) => typeof value === "number" && value >= 0 && value <= 1;
const CONDITIONS = {
  holds: (value) => value === false || (isShare(value) && value > 0),
  margin: (value) => isShare(value) && value < 1,
  plausible: (value) => isShare(value) && value < 1,
  changes: (value) => Number.isInteger(value) && value > 0,
};

const isAmounts = (value) => isRecord(value) && Object.values(value).length > 0 && Object.values(value).every(Number.isFinite);
const isPlaces = (value) => Array.isArray(value) && value.length > 0;
const isRanges = (value) => isRecord(value) && Object.values(value).length > 0 && Object.values(value).every((ends) => Array.isArray(ends) && ends.length === 2 && ends.every(Number.isFinite));
const HOWS = { through: isPlaces, using: isPlaces, avoiding: isPlaces, at_least: isAmounts, at_most: isAmounts, between: isRanges };

const isContext = (value) => isRecord(value) && Object.values(value).every(isPlain);

const isGoal = ({ outcome, ...limits }) => typeof outcome === "string" && Object.entries(limits).length === 1
  && Object.entries(limits).every(([how, goal]) => (how === "between" ? Array.isArray(goal) && goal.length === 2 && goal.every(Number.isFinite) : ["at_least", "at_most"].includes(how) && Number.isFinite(goal)));

const CHECKS = {
  context: isContext,
  before: isContext,
  forecast: (value) => isRecord(value) && isGoal(value),
  plan: (value) => value !== null,
  wish: (value) => isRecord(value) && Object.entries(value).every(([how, items]) => HOWS[how]?.(items)),
  locks: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  conditions: (value) => isRecord(value) && Object.entries(value).every(([name, part]) => CONDITIONS[name]?.(part)),
  limits: (value) => isRecord(value) && Object.values(value).every((limit) => Array.isArray(limit) && limit.every((end) => end === null || isPlain(end))),
};

/** What such an address says; parts that cannot be read are left out and named in `unread`. */
export function readLink(hash) {
  known = hash;
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const kept = { scene: parts.get("scene"), asked: [], unread: [] };
  for (const [name, good] of Object.entries(CHECKS)) {
    if (!parts.has(name)) continue;
    try {
      const value = JSON.parse(parts.get(name));
      if (!good(value)) throw new TypeError(name);
      kept[name] = value;
    } catch {
      kept.unread.push(name);
    }
  }
  kept.more = (parts.get("more") ?? "").split(" ").filter((name) => OTHERS.includes(name));
  const subject = (parts.get("subject") ?? "").split(" ");
  if (["mine", "any", "set"].includes(subject[0]) && KINDS.includes(subject[1])) kept.subject = subject;
  kept.asked = (parts.get("asked") ?? "").split(" ").filter((kind) => KINDS.includes(kind));
  if (["any", "set"].includes(parts.get("about"))) kept.about = parts.get("about");
  if (KINDS.includes(parts.get("show"))) kept.selected = parts.get("show");
  return kept;
}

/** Take note of an address that was reached by Back or Forward. */
export function heed(hash) {
  known = hash;
}

/** Keep the address bar up to date without a new entry in the history. */
export function writeLink() {
  const link = linkOf();
  if (!link || window.location.hash !== known) return;
  window.history.replaceState(window.history.state, "", `#${link}`);
  known = window.location.hash;
}
