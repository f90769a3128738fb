// When would the forecast reach a value: which outcome, what it should be, and the nearest context in which it is.

import { badge, certificate } from "./answers.js";
import { button, h, put } from "./dom.js";
import { plain } from "./format.js";
import { askOther, otherObstacle, pendingOther } from "./others.js";
import { paragraphs, slot } from "./slot.js";
import { ask, state } from "./state.js";

const KINDS = [["at_least", "at least"], ["at_most", "at most"], ["between", "between"]];

/** The answer: its proof, what it says, what changes, and a way to go on from there. */
function crossing({ sentence, answer }) {
  const { changes } = answer.shown;
  const set = () => ask({ context: { ...answer.controls } });
  return [badge(answer), h("div", { class: "spoken" }, paragraphs(sentence)),
    answer.controls && changes.length > 3 && h("ul", { class: "changes" }, changes.map(({ feature, from, to }) =>
      h("li", {}, h("b", { text: `${feature} ` }), h("s", { text: from }), " → ", h("span", { class: "to", text: to })))),
    answer.controls && h("div", { class: "row" }, button("Set the controls to it", set, { class: "button quiet", label: "Set the controls to the context in which the forecast is so" })),
    certificate(answer, "the fitted model")];
}

/** The form: an outcome, where there are several, and what its forecast should be. */
function form() {
  const offered = state.scene.forecasts;
  const outcome = h("select", { id: "forecast-outcome", "aria-label": "Forecast of", onchange: () => show() }, offered.map(({ outcome: name }) => h("option", { value: name, text: name })));
  const kind = h("select", { id: "forecast-kind", "aria-label": "The forecast should be", onchange: () => show() }, KINDS.map(([value, text]) => h("option", { value, text })));
  const field = (id, label) => h("input", { type: "number", id, step: "any", inputmode: "decimal", "aria-label": label });
  const first = field("forecast-value", "Value of the forecast");
  const second = field("forecast-upper", "Largest value of the forecast");
  const and = h("span", { text: "and" });
  const note = h("p", { class: "hint", role: "status" });
  const range = h("p", { class: "hint" });
  const say = (text) => { note.textContent = text; note.classList.toggle("warning", Boolean(text)); };
  const chosen = () => offered.find((one) => one.outcome === outcome.value) ?? offered[0];

  function show() {
    const both = kind.value === "between";
    second.hidden = and.hidden = !both;
    first.setAttribute("aria-label", both ? "Smallest value of the forecast" : "Value of the forecast");
    const { low, high } = chosen();
    range.textContent = `Forecasts for the past lie between ${plain(low, 4)} and ${plain(high, 4)}.`;
    say("");
  }

  function submit(event) {
    event.preventDefault();
    const ends = [first, ...(kind.value === "between" ? [second] : [])].map(({ value }) => (value === "" ? NaN : Number(value)));
    if (ends.some(Number.isNaN)) say("Give the forecast a number to reach.");
    else if (ends[0] > ends[1]) say("The first number must not be above the second.");
    else {
      say("");
      askOther("forecast", { outcome: chosen().outcome, [kind.value]: ends.length > 1 ? ends : ends[0] });
    }
  }

  const go = h("button", { type: "submit", class: "button", text: "Find out" });
  const node = h("div", { class: "since" }, h("form", { class: "row", novalidate: true, onsubmit: submit }, offered.length > 1 && outcome, kind, first, and, second, go), range, note);
  show();
  return {
    node,
    /** Show what a link asked for. */
    take({ outcome: name, ...limits }) {
      const [[how, goal]] = Object.entries(limits);
      outcome.value = name;
      kind.value = how;
      [first.value, second.value = ""] = [goal].flat();
      show();
    },
    sync() { go.disabled = Boolean(otherObstacle("forecast")) || (pendingOther("forecast") && !state.others.forecast.stale); },
  };
}

/** The place of the question, hidden where nothing is forecast; its form is made anew for every scene. */
export function forecastSlot() {
  const holder = h("div");
  let made = null;
  let scene = null;
  const inner = slot({ name: "forecast", title: "When would the forecast reach a value?", hint: "The nearest context in which what is forecast is as you ask; plans play no part in it.", draw: crossing, asking: holder });
  return {
    node: inner.node,
    sync() {
      if (scene !== state.scene) {
        scene = state.scene;
        made = scene.forecasts.length ? form() : null;
        put(holder, made?.node);
      }
      inner.sync();
      inner.node.hidden = !made;
      const { wanted, state: was } = state.others.forecast;
      if (made && was === "queued" && wanted) made.take(wanted);
      made?.sync();
    },
  };
}
