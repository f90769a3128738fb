// Why another plan than before: another context to compare with, and what every feature that differs contributes.

import { api } from "./api.js";
import { control, freshId } from "./controls.js";
import { button, h, put } from "./dom.js";
import { aligned, withUnit } from "./format.js";
import { failed } from "./notices.js";
import { askOther, otherObstacle, pendingOther } from "./others.js";
import { pictureOf } from "./multiples.js";
import { paragraphs, slot } from "./slot.js";
import { numbers, observationNamed, state } from "./state.js";
import { term } from "./terms.js";

/** Amounts with their signs, to the same decimals. */
const signed = (amounts, unit) => aligned(amounts.map(Math.abs)).map((text, i) => withUnit(Number(text) === 0 ? text : `${amounts[i] < 0 ? "-" : "+"}${text}`, unit));

/** A bar from the middle: to the right what speaks for the new plan, to the left what speaks against it. */
function bar(amount, most) {
  const node = h("i", { class: `share-bar ${amount < 0 ? "against" : ""}` });
  const width = (50 * Math.abs(amount)) / most;
  node.style.width = `${width}%`;
  node.style.left = `${amount < 0 ? 50 - width : 50}%`;
  return h("div", { class: "share-track", "aria-hidden": "true" }, node);
}

function comparison({ sentence, answer }) {
  const [first, second, ...rest] = sentence.split("\n");
  const unit = answer.cost_unit;
  const changes = answer.contributions ?? [];
  const amounts = changes.map(({ contribution }) => contribution);
  const texts = signed([...amounts, answer.turn], unit);
  const most = Math.max(...amounts.map(Math.abs), 1e-12);
  const rows = amounts.map((amount, i) => {
    const [name, was, to] = answer.shown[i];
    return h("li", {}, h("span", { class: "share-name" }, h("b", { text: name }), ` ${was} → ${to}`, pictureOf(changes[i])), bar(amount, most), h("span", { class: "share-amount", text: texts[i] }));
  });
  const what = answer.same ? "What every change does to the cost of the plan" : "What every change adds to the lead of the new plan over the old one";
  return [rows.length > 0 && h("figure", {}, h("ol", { class: "shares" }, rows,
      h("li", { class: "together" }, h("span", { class: "share-name", text: "together" }), h("span"), h("span", { class: "share-amount", text: texts.at(-1) }))),
    h("figcaption", { class: "hint" }, `${what}: exact `, term("shapley", "Shapley values"), ", which add up.")),
    h("div", { class: "spoken" }, paragraphs(rest.join("\n"))),
    h("p", { class: "hint", text: first }), h("p", { class: "hint", text: second })];
}

/** The form with the other context: a past observation, or one's own values. */
function form() {
  const [first, last] = numbers();
  const field = h("input", { type: "number", id: "before-row", min: first, max: last, step: 1, inputmode: "numeric", placeholder: `${first}–${last}` });
  const note = h("p", { class: "hint", role: "status" });
  const say = (text, bad = false) => { note.textContent = text; note.classList.toggle("warning", bad); };
  let own = { ...state.scene.context };
  const rows = state.scene.features.map((feature) => {
    const id = freshId("before");
    const one = control(feature, id, (now) => { own = { ...own, [feature.name]: now }; show(); });
    // The same control stands in the context panel: this one is named apart.
    one.node.querySelectorAll("[aria-label]").forEach((node) => node.setAttribute("aria-label", `Before: ${node.getAttribute("aria-label")}`));
    return { feature, one, node: h("div", { class: "before-row" }, h("label", { for: id, text: `${feature.name}, before` }), one.node) };
  });
  const show = () => { for (const { feature, one } of rows) one.sync(own[feature.name]); };

  function compare(context) {
    const lacking = state.scene.features.find(({ name }) => context[name] === null);
    if (lacking) say(`${lacking.name} needs a number.`, true);
    else askOther("compare", context);
  }

  async function compareRow() {
    const number = field.value === "" ? NaN : Number(field.value);
    if (!Number.isInteger(number) || number < first || number > last) {
      say(`Past observations are numbered from ${first} to ${last}.`, true);
      return;
    }
    try {
      const { id } = state.scene;
      const past = await api.observation(id, number);
      if (state.scene.id !== id) return;
      own = { ...past.context };
      show();
      say(`Compared with observation ${observationNamed(past)}.`);
      compare(own);
    } catch (error) {
      say(failed(error), true);
    }
  }

  const go = h("button", { type: "submit", class: "button", text: "Compare" });
  const byHand = button("Compare with these values", () => { say(""); compare(own); }, { id: "ask-compare" });
  const node = h("div", { class: "since" },
    h("form", { class: "row", novalidate: true, onsubmit: (event) => { event.preventDefault(); compareRow(); } }, h("label", { for: "before-row", text: "Before: past observation" }), field, go),
    h("details", { class: "by-hand" }, h("summary", { text: "Or set the other context by hand" }),
      h("div", { class: "before-rows" }, rows.map((row) => row.node)),
      h("div", { class: "row" }, byHand, button("As the controls are now", () => { own = { ...state.context }; show(); say("Now change the controls, and compare."); }, { class: "button quiet" }))), note);
  show();
  return {
    node,
    /** Show the context of a comparison that a link asked for. */
    take(context) { own = { ...context }; show(); },
    sync() {
      const busy = pendingOther("compare") && !state.others.compare.stale;
      go.disabled = byHand.disabled = Boolean(otherObstacle("compare")) || busy;
    },
  };
}

/** The place of the comparison; its form is made anew for every scene. */
export function sinceSlot() {
  const holder = h("div");
  let made = null;
  let scene = null;
  const inner = slot({ name: "compare", title: "Why another plan than before?", hint: "Today’s context against another one: what each difference contributes to the costs.", draw: comparison, asking: holder });
  return {
    node: inner.node,
    sync() {
      if (scene !== state.scene) {
        scene = state.scene;
        made = form();
        put(holder, made.node);
      }
      const { before, state: was } = state.others.compare;
      if (was === "queued" && before) made.take(before);
      made.sync();
      inner.sync();
    },
  };
}
