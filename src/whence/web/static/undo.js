// Undo and redo: every change of the context, the plan or the restrictions is an entry of the browser's history, and Back undoes it.

import { button, debounced } from "./dom.js";
import { heed, writeLink } from "./link.js";
import { announce } from "./notices.js";
import { ask, state, subscribe } from "./state.js";

const KEPT = ["context", "plan", "locks", "limits", "conditions", "wish"];
/** Whose steps these are: entries of another visit, or from before a scene was opened anew, are not among them. */
let visit = null;
let entries = [];
let at = -1;
/** The address that Back or Forward has led to, which is read already. */
let reached = null;

const taken = () => Object.fromEntries(KEPT.map((key) => [key, state[key]]));
const same = (one, other) => KEPT.every((key) => JSON.stringify(one[key]) === JSON.stringify(other[key]));
const mark = () => ({ visit, at });

/** Take note of a change once the hand rests, as a step of its own. */
const record = debounced(() => {
  const now = taken();
  if (!state.scene || at < 0 || same(now, entries[at])) return;
  entries = [...entries.slice(0, at + 1), now];
  at += 1;
  window.history.pushState(mark(), "", window.location.hash);
  writeLink();
  sync();
}, 350);

const undo = button("", () => window.history.back(), { icon: "undo", class: "tool", id: "undo", label: "Undo the last change" });
const redo = button("", () => window.history.forward(), { icon: "redo", class: "tool", id: "redo", label: "Redo" });

function sync() {
  undo.disabled = at <= 0;
  redo.disabled = at >= entries.length - 1;
}

/** Whether Back or Forward has led to an address, and what it holds is on the page. */
export const undone = (hash) => hash === reached;

/** The buttons, and the steps of every scene from where it was opened. */
export function startUndo() {
  subscribe((changed) => {
    if (!state.scene) return;
    if (changed.has("scene")) {
      [visit, entries, at] = [Math.random().toString(36).slice(2), [taken()], 0];
      window.history.replaceState(mark(), "", window.location.hash);
      sync();
    } else if (KEPT.some((key) => changed.has(key))) record();
  });
  window.addEventListener("popstate", ({ state: entry }) => {
    reached = null;
    if (entry?.visit !== visit || !entries[entry.at]) return;
    const { plan, ...rest } = entries[entry.at];
    at = entry.at;
    reached = window.location.hash;
    heed(reached);
    ask(JSON.stringify(plan) === JSON.stringify(state.plan) ? rest : { ...rest, plan, check: null, drawing: false });
    announce("The change is undone, or done again.");
    sync();
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.closest("input:not([type=range]), textarea, select")) return;
    const step = event.shiftKey ? redo : undo;
    if (step.disabled) return;
    event.preventDefault();
    step.click();
  });
  return [undo, redo];
}
