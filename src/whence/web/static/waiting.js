// A search on its way: what it waits for or how far it has come, and a way to stop it.

import { button, h, put } from "./dom.js";
import { count, duration, plain } from "./format.js";
import { judgedByRefits } from "./state.js";
import { term } from "./terms.js";

/** What keeps a search waiting, or an empty text where it runs. */
export function waitingText(entry) {
  if (entry.cancelling) return "Stopping; what was found stays.";
  if (entry.state === "busy") return "All searches are busy; yours is tried again in a moment.";
  if (entry.state === "queued") return entry.ahead ? `Waiting: ${entry.ahead} before this one.` : "Starting …";
  return "";
}

/** How far a search has come, in a line whose words stay where they are while its numbers change. */
export function progressLine() {
  const [lead, middle, tail] = [h("span"), h("span"), h("span")];
  const [boxes, far] = [term("boxes"), term("distance")];
  const node = h("p", { class: "progress-text" }, lead, boxes, middle, far, tail);
  function sync(entry) {
    const waits = waitingText(entry);
    const { nodes = 0, distance, bound, seconds = 0 } = entry.progress ?? {};
    const found = Number.isFinite(distance);
    boxes.hidden = Boolean(waits);
    far.hidden = Boolean(waits) || !found;
    lead.textContent = waits || `${count(nodes)} `;
    middle.textContent = waits ? "" : ` searched in ${duration(seconds)}: ${found ? "best at " : "none found yet"}`;
    tail.textContent = waits ? "" : `${found ? ` ${plain(distance, 4)}` : ""}${Number.isFinite(bound) ? `, none nearer than ${plain(bound, 3)}` : ""}.`;
  }
  return { node, sync };
}

/** What the search for an answer to rely on is doing; with `stable`, refits judge it instead of simulated worlds. */
function searchSaid({ refit = null, refits, seconds = 0 }, stable) {
  const sofar = `for ${duration(seconds)} so far.`;
  if (refit === null) return `Looking where ${stable ? "refits agree" : "such answers are true"}, ${sofar}`;
  if (stable) return `Making refit ${refit} of ${refits}, ${sofar}`;
  return refit === 0 ? `Looking for the best model of the outcomes, ${sofar}` : `Asking in simulated world ${refit} of ${refits}, ${sofar}`;
}

/** How far the search for an answer to rely on has come: mostly it waits for simulated worlds, or for refits. */
export function refitLine() {
  const text = h("span");
  const terms = [term("worlds", "What is a simulated world?"), term("refits", "What is a refit?")];
  const node = h("p", { class: "progress-text" }, text, " ", terms);
  function sync(entry) {
    const stable = judgedByRefits();
    text.textContent = waitingText(entry) || searchSaid(entry.progress ?? {}, stable);
    terms.forEach((one, i) => { one.hidden = Boolean(i) !== stable; });
  }
  return { node, sync };
}

/** How long a question of several searches has taken so far. */
export function elapsedLine() {
  const node = h("p", { class: "progress-text" });
  return { node, sync: (entry) => { node.textContent = waitingText(entry) || `Searching, for ${duration(entry.progress?.seconds ?? 0)} so far.`; } };
}

/** A bar that moves while a search is on its way, a line of {node, sync(entry)}, and a button to stop it, labelled by `what(entry)`. */
export function meterFor(line, stop, what) {
  const off = button("Cancel", stop, { icon: "cross", label: "Cancel" });
  const node = h("div", { class: "progress" }, h("div", { class: "progress-track", "aria-hidden": "true" }, h("i")), line.node, off);
  return {
    node,
    sync(entry, busy) {
      node.hidden = !busy;
      if (!busy) return;
      line.sync(entry);
      const label = what(entry);
      if (off.title !== label) for (const name of ["aria-label", "title"]) off.setAttribute(name, label);
      off.disabled = !entry.job || Boolean(entry.cancelling);
    },
  };
}

/** Draw `content` anew without taking the focus away from who is at one of its buttons. */
export function redraw(body, ...content) {
  const held = body.contains(document.activeElement) ? document.activeElement.textContent : null;
  put(body, content);
  if (held !== null) [...body.querySelectorAll("button, a, summary")].find((node) => node.textContent === held)?.focus({ preventScroll: true });
}
