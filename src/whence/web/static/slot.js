// The place of one of the other questions: its button, the search while it runs, its answer, or why there is none.

import { filesOf } from "./answers.js";
import { api } from "./api.js";
import { bringIntoView, button, byId, h, icon, leadTo, put } from "./dom.js";
import { explain } from "./jobs.js";
import { announce } from "./notices.js";
import { askOther, cancelOther, otherObstacle, pendingOther } from "./others.js";
import { ask, state, thenOf, update } from "./state.js";
import { share } from "./format.js";
import { term } from "./terms.js";
import { elapsedLine, meterFor, redraw } from "./waiting.js";

/** Whether an explanation of several is the one that the page shows. */
export const isPicked = (listed) => state.picked?.result === listed;

/** Show one explanation of several on the whole page, or go back to today. */
function pick(listed, about) {
  const on = isPicked(listed) && state.stage === "then";
  update({ picked: on ? null : { result: listed, about }, stage: on ? "today" : "then" });
  if (!on) bringIntoView(byId("plan-panel"));
}

/** The buttons of one explanation of several: look at its context, or go on from there. `called` tells them apart. */
export function waysThere(listed, about, called) {
  const then = thenOf(listed);
  if (!then) return null;
  const shown = isPicked(listed) && state.stage === "then";
  return h("div", { class: "row" },
    button(shown ? "Back to today" : "Show it", () => pick(listed, about), { icon: shown ? "undo" : "play", label: `${shown ? "Back to today" : "Show it"}: ${called}` }),
    button("Set the controls to it", () => ask({ context: { ...then.context } }), { class: "button quiet", label: `Set the controls to it: ${called}` }));
}

/** The share of nearest answers of a kind that are true, where it was found out for what the page explains. */
const shareOf = ({ about, kind }) => (state.about === about ? state.explanations[kind]?.result?.explanation.reliance?.worlds?.curve[0]?.share : null);

/** How often nearest answers of this kind are true, once that was found out for one of them; or how to find it out. */
export function reliedOn(about, kind) {
  if (state.scene.holds === null) return null;
  const known = shareOf({ about, kind });
  if (typeof known === "number") return h("p", { class: "hint relied" }, `Each is where the policy turns: in simulated worlds, ${share(known)} of such answers are true. `, term("worlds", "How is that known?"));
  return h("p", { class: "hint relied" }, "How often such answers are true is not known yet. ", button("Find out", () => explain(about), { class: "as-link", label: "Find out how far to rely on such answers" }));
}

/** The lines of a sentence; those that begin with a dash are told elsewhere. */
export const paragraphs = (text) => text.split("\n").filter((line) => line && !line.startsWith("  - ")).map((line, i) => h("p", { class: i ? "" : "verdict", text: line }));

/**
 * The place of the question `name`: {node, go, sync()}. `text` is on its button, `draw(result, entry)` shows an answer;
 * `asking` is a node to ask with, in place of that button. One whose button is `apart`, as `go`, is hidden until it is asked.
 */
export function slot({ name, title, hint, text, draw, asking = null, apart = false }) {
  const note = h("p", { class: "hint", role: "status" });
  const go = button(text, (event) => leadTo(event, askOther(name), () => node), { id: `ask-${name}` });
  const of = h("p", { class: "hint" });
  const meter = meterFor(elapsedLine(), () => cancelOther(name), () => `Cancel: ${title}`);
  const body = h("div", { class: "answer" });
  const node = h("section", { class: "other", "data-other": name, "aria-label": title, tabindex: "-1" },
    h("h3", { text: title }), h("p", { class: "hint", text: hint }), asking ?? (!apart && h("div", { class: "row" }, go)), note, meter.node, of, body);
  let drawn = "";
  let told = "";

  function sync() {
    const entry = state.others[name];
    const busy = pendingOther(name);
    const blocked = otherObstacle(name);
    go.disabled = Boolean(blocked) || (busy && !entry.stale);
    node.hidden = apart && entry.state === "idle";
    of.textContent = entry.words && entry.state !== "idle" ? `About ${entry.words}.` : "";
    const said = blocked || (entry.stale ? "Something has changed since: ask again." : "");
    if (note.textContent !== said) note.textContent = said;
    node.classList.toggle("stale", Boolean(entry.stale));
    node.setAttribute("aria-busy", String(busy));
    meter.sync(entry, busy);
    const mark = [entry.state, entry.job, entry.stale, state.stage, entry.result?.explanations.findIndex(isPicked), entry.kind && typeof shareOf(entry)].join();
    if (mark === drawn || (busy && drawn === "busy")) return;
    drawn = busy ? "busy" : mark;
    const { result } = entry;
    if (busy || entry.state === "idle") put(body);
    else if (entry.state === "error") put(body, h("p", { class: "reason" }, icon("warn"), h("span", { text: entry.error })));
    else if (!result) put(body, h("p", { class: "soft", text: "Stopped before anything was found." }));
    else {
      redraw(body, draw(result, entry), filesOf(`${state.scene.id}-${name}`, api.answerReport(entry.job), api.answerData(entry.job)));
      if (entry.job !== told) announce(`${title} ${result.sentence.split("\n")[0]}`);
      told = entry.job;
    }
  }
  return { node, go, sync };
}
