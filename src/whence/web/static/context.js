// The context panel: the controls, what may not change, past observations, and what the explanation would change.

import { api } from "./api.js";
import { control, freshId, limitFields, limitWords } from "./controls.js";
import { button, byId, h, icon, put } from "./dom.js";
import { value } from "./format.js";
import { outside } from "./history.js";
import { announce, failed } from "./notices.js";
import { stripLegend, stripOf } from "./strips.js";
import { term } from "./terms.js";
import { ask, numbers, observationNamed, shownChanges, shownContext, shownThen, state, subscribe } from "./state.js";

const CHANGE = { fixed: "The model keeps this as it is.", increase: "May only rise.", decrease: "May only fall." };
const RISE = { increase: "May only be switched on.", decrease: "May only be switched off." };

const HINTS = {
  today: "Set what is the case. Lock what cannot change; limit how far it may.",
  then: "Shown is the context found. Change a control, and you go on from there.",
};

let rows = [];
let observation = null;
let legend = null;

function setLimit(name, limit) {
  const limits = { ...state.limits };
  if (limit === null) delete limits[name];
  else limits[name] = limit;
  ask({ limits });
}

/** The drawer with the limits of a feature: closing it hides them and nothing more. */
function limitDrawer(feature, kept) {
  const { name } = feature;
  const fields = limitFields(feature, (limit) => setLimit(name, limit));
  const id = freshId("limits");
  const opener = h("button", { type: "button", class: "tool", disabled: kept, "aria-label": `Limit ${name}`, title: "Limit",
    "aria-controls": id, "aria-expanded": "false" }, icon("limit"));
  const remove = button("No limit", () => { setLimit(name, null); opener.focus(); }, { class: "button quiet", label: `No limit for ${name}` });
  const drawer = h("div", { id, class: "drawer", hidden: true }, fields.node, remove);
  const told = h("p", { class: "hint limit-told" });
  const open = (wanted) => {
    drawer.hidden = !wanted;
    opener.setAttribute("aria-expanded", String(wanted));
    told.hidden = wanted || !state.limits[name];
  };
  opener.addEventListener("click", () => {
    open(drawer.hidden);
    if (!drawer.hidden) drawer.querySelector("input")?.focus();
  });
  return {
    opener,
    nodes: [drawer, told],
    close: () => open(false),
    sync() {
      const limit = state.limits[name];
      fields.sync(limit);
      remove.hidden = !limit;
      opener.classList.toggle("in-use", Boolean(limit));
      opener.setAttribute("aria-label", limit ? `Limit ${name}: ${limitWords(feature, limit)}` : `Limit ${name}`);
      told.textContent = limit ? `May go ${feature.kind === "categorical" ? "to " : ""}${limitWords(feature, limit)} only.` : "";
      open(!drawer.hidden);
    },
  };
}

function featureRow(feature) {
  const { name } = feature;
  const id = freshId("feature");
  // What is shown is what is changed: in the context found, one goes on from there.
  const set = (now) => ask({ context: { ...shownContext(), [name]: now } });
  const strip = stripOf(feature, set);
  const field = control(feature, id, set, strip.node);
  const kept = feature.change === "fixed";
  const padlock = h("button", { type: "button", class: "tool", disabled: kept, "aria-label": `${name} cannot change`, title: "Cannot change",
    onclick: () => ask({ locks: state.locks.includes(name) ? state.locks.filter((other) => other !== name) : [...state.locks, name] }) });
  const limits = feature.kind === "binary" ? null : limitDrawer(feature, kept);
  const words = (feature.kind === "binary" && RISE[feature.change]) || CHANGE[feature.change];
  const note = h("p", { class: "then-note", hidden: true });
  const caution = h("p", { class: "hint caution", role: "status" });
  const node = h("div", { class: "feature", "data-feature": name },
    h("label", { class: "feature-name", for: id, text: name }), field.node,
    h("div", { class: "tools" }, limits?.opener, padlock), limits?.nodes ?? [], caution, words && h("p", { class: "hint", text: words }), note);

  function sync() {
    const change = shownChanges().get(name);
    const then = shownThen()?.context[name];
    const onStage = Boolean(change) && state.stage === "then";
    // The number that the sentence names, which is rounded so that it holds.
    const shown = onStage && feature.kind === "continuous" ? change.value : shownContext()[name];
    field.sync(shown, change && !onStage && typeof then === "number" ? then : undefined);
    strip.sync(shown);
    const locked = kept || state.locks.includes(name);
    padlock.setAttribute("aria-pressed", String(locked));
    put(padlock, icon(locked ? "lock" : "open"));
    limits?.sync();
    const far = outside(feature, shown);
    const said = shown === null ? `${name} needs a ${feature.kind === "date" ? "date" : "number"}.` : far && (feature.kind === "binary" ? `${name} ${far}` : `${value(shown, feature)} ${far}`);
    if (caution.textContent !== said) caution.textContent = said;
    node.classList.toggle("locked", locked);
    node.classList.toggle("changed", Boolean(change));
    node.classList.toggle("on-stage", onStage);
    note.hidden = !change;
    if (change) {
      put(note, h("span", { class: "hidden-label", text: "In the explanation, not " }), h("s", { text: value(change.from, feature) }), icon("arrow"),
        h("span", { class: "hidden-label", text: " but " }), h("b", { text: change.words }));
    }
  }
  return { node, sync, close: () => limits?.close() };
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
    for (const row of rows) row.close();
    observation.say("");
    announce("The context is as it was at the start.");
  }, { icon: "reset", class: "button quiet", label: "Reset the context, locks and limits" });
  put(byId("context-tools"), reset);
  put(byId("context-heading"), term("context", "Context"));
  legend = stripLegend();
  put(byId("context"), legend.node, h("div", { class: "features" }, rows.map((row) => row.node)), observation.node);
}

export function startContext() {
  subscribe((changed) => {
    if (!state.scene) return;
    if (changed.has("scene")) build();
    if (["scene", "context", "locks", "limits", "explanations", "selected", "answer", "picked", "stage", "stale", "strips"].some((key) => changed.has(key))) {
      for (const row of rows) row.sync();
      legend.sync();
      byId("context-hint").textContent = state.stage === "then" && shownThen() ? HINTS.then : HINTS.today;
    }
  });
}
