// Answers side by side: every smallest set of features that would do, and the facts that settle it.

import { badge, facts } from "./answers.js";
import { h } from "./dom.js";
import { isPicked, paragraphs, slot, waysThere } from "./slot.js";

/** What changes, one feature a line; the heading names a single one already. */
function changesOf({ explanation: { shown } }) {
  return h("ul", { class: "changes" }, shown.changes.map(({ feature, from, to }, _, { length }) =>
    h("li", {}, length > 1 && h("b", { text: `${feature} ` }), h("s", { text: from }), " → ", h("span", { class: "to", text: to }))));
}

function way(listed, about) {
  const { explanation: found } = listed;
  const called = found.changes.map(({ feature }) => feature).join(" and ");
  return h("li", { class: `card way ${isPicked(listed) ? "selected" : ""}` },
    h("h4", { text: called }), changesOf(listed), badge(found), facts(found.shown), waysThere(listed, about, `the change of ${called}`));
}

/** A menu: a card for every way that would do, nearest first. */
function menu({ sentence, answer, explanations, left_off: more }, { about }) {
  const told = paragraphs(sentence);
  if (answer.status === "already" || !explanations.length) return h("div", { class: "spoken" }, told);
  return [h("div", { class: "spoken" }, told[0]), h("ol", { class: "ways" }, explanations.map((one) => way(one, about))),
    more > 0 && h("p", { class: "hint", text: `${more} more, farther away, are in the report.` }), h("div", { class: "spoken" }, told.slice(1))];
}

/** Reasons: the sentence, and for every fact what would do without it. */
function reasons({ sentence, answer, explanations }, { about }) {
  const undone = new Map(explanations.map((one) => [one.name, one]));
  const names = Object.keys(answer.facts);
  return [h("div", { class: "spoken" }, paragraphs(sentence)),
    names.length > 0 && h("ul", { class: "fact-list" }, names.map((name, i) => {
      const listed = undone.get(name);
      return h("li", {}, h("b", { text: answer.written[i] }), listed && h("p", { class: "hint", text: `Without it, this would do: ${listed.changes}.` }),
        listed && waysThere(listed, about, `what undoes ${name}`));
    }))];
}

export const menuSlot = () => slot({ name: "menu", title: "What else would do?", hint: "Every smallest set of features that can make the difference, nearest first.", text: "Show all ways", draw: menu });

export const reasonsSlot = () => slot({ name: "reasons", title: "Which facts settle it?", hint: "As long as these stay as they are, nothing else that changes makes a difference.", text: "Find the facts", draw: reasons });
