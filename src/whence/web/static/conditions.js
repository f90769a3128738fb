// What an answer must keep to, beside locks and limits: be true so often, be cheaper by an amount, be no stranger than a share of the past.

import { h, put } from "./dom.js";
import { plain, share } from "./format.js";
import { term } from "./terms.js";
import { ask, judgedByRefits, ownConditions, state } from "./state.js";

const MARGINS = [0, 0.01, 0.02, 0.05, 0.1, 0.2];
const PLAUSIBLE = [0, 0.05, 0.1, 0.25, 0.5];
const HOLDS = [false, 0.7, 0.8, 0.9, 0.95];

const WORDS = {
  holds: (part) => (part === false ? "not asked" : `${plain(10 * part, 3)} of 10`),
  margin: (part) => (part === 0 ? "any amount" : typeof part === "number" ? share(part) : part),
  plausible: (part) => (part === 0 ? "however strange" : `the strangest ${share(part)} left out`),
};

/** The conditions of a question as they are sent: what the scene asks for anyhow need not be said. */
export function conditionsAsked() {
  const { holds, margin, plausible } = state.conditions;
  const own = ownConditions(state.scene);
  const few = state.conditions.changes === own.changes ? {} : { max_changes: state.conditions.changes };
  return {
    ...few,
    ...(state.scene.holds === null ? {} : { holds }),
    ...(margin === own.margin ? {} : { margin }),
    ...(plausible === own.plausible || plausible === 0 ? {} : { plausible }),
    rule: true,
  };
}

/** The conditions of a question with several answers: how often such answers are true, and the number of changes, are for single ones. */
export function conditionsOfSeveral() {
  const { margin, plausible } = conditionsAsked();
  return { ...(margin === undefined ? {} : { margin }), ...(plausible === undefined ? {} : { plausible }) };
}

/** The conditions of a question about a forecast: how usual the context must be, and how few features may change. */
export function conditionsOfForecasts() {
  const { plausible, max_changes: few } = conditionsAsked();
  return { ...(plausible === undefined ? {} : { plausible }), ...(few === undefined ? {} : { max_changes: few }) };
}

/** Whether an answer to rely on is asked for. */
export const asksToRely = () => state.scene.holds !== null && state.conditions.holds !== false;

/** What stands before each choice. */
const LABELS = {
  holds: () => (judgedByRefits() ? "refits must agree" : "such answers must be true"),
  margin: () => "cheaper by at least",
  plausible: () => "contexts",
};

function choice(name, offered) {
  const node = h("select", { id: `condition-${name}`, onchange: () => ask({ conditions: { ...state.conditions, [name]: JSON.parse(node.value) } }) });
  const label = h("span");
  const row = h("label", { class: "limit" }, label, node);
  let drawn = "";
  function sync() {
    label.textContent = LABELS[name]();
    const own = ownConditions(state.scene)[name];
    const values = [...new Set([...offered.filter((part) => name !== "plausible" || part !== 0 || own === 0), own, state.conditions[name]])]
      .sort((a, b) => Number(a) - Number(b));
    const mark = JSON.stringify(values);
    if (mark !== drawn) put(node, values.map((part) => h("option", { value: JSON.stringify(part), text: WORDS[name](part) })));
    drawn = mark;
    node.value = JSON.stringify(state.conditions[name]);
    row.hidden = name === "holds" && state.scene.holds === null;
  }
  return { node: row, sync };
}

/** A slider for the number of changes; at its right end there may be any number. */
export function changesSlider() {
  const said = h("output", { for: "most-changes" });
  const node = h("input", { type: "range", id: "most-changes", min: 1, step: 1, oninput: () => ask({ conditions: { ...state.conditions, changes: Number(node.value) } }) });
  const row = h("label", { class: "limit most-changes" }, h("span", { text: "changes, at most" }), h("span", { class: "slider" }, node), said);
  function sync() {
    const all = state.scene.features.length;
    const { changes } = state.conditions;
    row.hidden = all < 2;
    node.max = all;
    node.value = changes;
    node.style.setProperty("--at", `${(100 * (changes - 1)) / Math.max(all - 1, 1)}%`);
    said.textContent = changes >= all ? "any" : String(changes);
    node.setAttribute("aria-valuetext", said.textContent);
  }
  return { node: row, sync };
}

/** The drawer with the conditions; it says so where some are in use. */
export function conditionsDrawer() {
  const choices = [choice("holds", HOLDS), choice("margin", MARGINS), choice("plausible", PLAUSIBLE)];
  const title = h("summary", { text: "Conditions" });
  const note = h("p", { class: "hint" });
  const node = h("details", { class: "conditions" }, title, h("div", { class: "row" }, choices.map((one) => one.node)), h("p", { class: "hint" }, term("conditions", "What are conditions?")), note);
  function sync() {
    for (const one of choices) one.sync();
    const own = ownConditions(state.scene);
    const other = ["holds", "margin", "plausible"].some((name) => own[name] !== state.conditions[name]);
    title.textContent = other ? "Conditions (changed)" : "Conditions";
    note.textContent = state.scene.unknown;
  }
  return { node, sync };
}
