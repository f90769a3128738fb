// The context panel: the controls, what may not change, past observations, and what the explanation would change.

import { api } from "./api.js";
import { control, freshId, limitFields } from "./controls.js";
import { button, byId, h, icon, put } from "./dom.js";
import { value } from "./format.js";
import { announce, failed } from "./notices.js";
import { ask, numbers, observationNamed, shownChanges, shownThen, state, subscribe } from "./state.js";

const CHANGE = { fixed: "The model keeps this as it is.", increase: "May only rise.", decrease: "May only fall." };
const RISE = { increase: "May only be switched on.", decrease: "May only be switched off." };

let rows = [];
let observation = null;

function setLimit(name, limit) {
  const limits = { ...state.limits };
  if (limit === null) delete limits[name];
  else limits[name] = limit;
  ask({ limits });
}

function featureRow(feature) {
  const { name } = feature;
  const id = freshId("feature");
  const field = control(feature, id, (now) => ask({ context: { ...state.context, [name]: now } }));
  const kept = feature.change === "fixed";
  const padlock = h("button", { type: "button", class: "tool", disabled: kept, "aria-label": `${name} cannot change`, title: "Cannot change",
    onclick: () => ask({ locks: state.locks.includes(name) ? state.locks.filter((other) => other !== name) : [...state.locks, name] }) });
  const limits = feature.kind === "binary" ? null : limitFields(feature, (limit) => setLimit(name, limit));
  const limitsId = freshId("limits");
  const opener = limits && h("button", { type: "button", class: "tool", disabled: kept, "aria-label": `Limit ${name}`, title: "Limit",
    "aria-controls": limitsId, "aria-expanded": "false" }, icon("limit"));
  const drawer = limits && h("div", { id: limitsId, class: "drawer", hidden: true }, limits.node);
  opener?.addEventListener("click", () => {
    drawer.hidden = !drawer.hidden;
    opener.setAttribute("aria-expanded", String(!drawer.hidden));
    if (drawer.hidden) setLimit(name, null);
    else drawer.querySelector("input")?.focus();
  });
  const words = (feature.kind === "binary" && RISE[feature.change]) || CHANGE[feature.change];
  const note = h("p", { class: "then-note", hidden: true });
  const node = h("div", { class: "feature", "data-feature": name },
    h("label", { class: "feature-name", for: id, text: name }), field.node,
    h("div", { class: "tools" }, opener, padlock), drawer, words && h("p", { class: "hint", text: words }), note);

  function sync() {
    const change = shownChanges().get(name);
    const then = shownThen()?.context[name];
    field.sync(state.context[name], change && typeof then === "number" ? then : undefined);
    const locked = kept || state.locks.includes(name);
    padlock.setAttribute("aria-pressed", String(locked));
    put(padlock, icon(locked ? "lock" : "open"));
    const limit = state.limits[name];
    limits?.sync(limit);
    if (limit && drawer.hidden) { drawer.hidden = false; opener.setAttribute("aria-expanded", "true"); }
    opener?.setAttribute("aria-pressed", String(Boolean(limit)));
    node.classList.toggle("locked", locked);
    node.classList.toggle("changed", Boolean(change));
    node.classList.toggle("on-stage", Boolean(change) && state.stage === "then");
    note.hidden = !change;
    if (change) {
      put(note, h("s", { text: value(change.from, feature) }), icon("arrow"), h("b", { text: change.words }));
      note.setAttribute("aria-label", `In the explanation: ${change.words} rather than ${value(change.from, feature)}`);
    }
  }
  return { node, sync };
}

/** Set the controls to a past observation. */
async function load(number) {
  const [first, last] = numbers();
  if (!Number.isInteger(number) || number < first || number > last) {
    observation.say(`Past observations are numbered from ${first} to ${last}.`, true);
    return;
  }
  try {
    const past = await api.observation(state.scene.id, number);
    ask({ context: { ...past.context } });
    observation.say(`Observation ${observationNamed(past)} is loaded.`);
  } catch (error) {
    observation.say(failed(error), true);
  }
}

function observationForm() {
  const [first, last] = numbers();
  const field = h("input", { type: "number", id: "observation", min: first, max: last, step: 1, inputmode: "numeric", placeholder: `${first}–${last}` });
  const note = h("p", { class: "hint", role: "status" });
  const any = () => { field.value = first + Math.floor(Math.random() * (last - first + 1)); load(Number(field.value)); };
  const form = h("form", { class: "observation", onsubmit: (event) => { event.preventDefault(); load(field.value === "" ? NaN : Number(field.value)); } },
    h("label", { for: "observation", text: "Past observation" }),
    h("div", { class: "row" }, field, h("button", { type: "submit", class: "button", text: "Load" }),
      button("", any, { icon: "dice", class: "button square", label: "Load any past observation" })), note);
  return { node: form, say(text, bad = false) { note.textContent = text; note.classList.toggle("warning", bad); } };
}

function build() {
  rows = state.scene.features.map(featureRow);
  observation = observationForm();
  const reset = button("Reset", () => {
    ask({ context: { ...state.scene.context }, locks: [], limits: {} });
    for (const drawer of byId("context").querySelectorAll(".drawer")) drawer.hidden = true;
    for (const opener of byId("context").querySelectorAll("[aria-expanded]")) opener.setAttribute("aria-expanded", "false");
    observation.say("");
    announce("The context is as it was at the start.");
  }, { icon: "reset", class: "button quiet", label: "Reset the context, locks and limits" });
  put(byId("context-tools"), reset);
  put(byId("context"), h("div", { class: "features" }, rows.map((row) => row.node)), observation.node);
}

export function startContext() {
  subscribe((changed) => {
    if (!state.scene) return;
    if (changed.has("scene")) build();
    if (["scene", "context", "locks", "limits", "explanations", "selected", "stage", "stale"].some((key) => changed.has(key))) {
      for (const row of rows) row.sync();
    }
  });
}
