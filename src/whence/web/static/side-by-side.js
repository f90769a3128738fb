// Answers side by side: every smallest set of features that would do, and the facts that settle it.

import { badge, facts } from "./answers.js";
import { h } from "./dom.js";
import { pictureOf } from "./multiples.js";
import { isPicked, paragraphs, reliedOn, slot, waysThere } from "./slot.js";

/** What changes, one feature a line with its picture; the heading names a single one already. */
function changesOf({ explanation: { shown, changes } }) {
  return h("ul", { class: "changes" }, shown.changes.map(({ feature, from, to }, i, { length }) =>
    h("li", {}, pictureOf(changes[i]), length > 1 && h("b", { text: `${feature} ` }), h("s", { text: from }), " → ", h("span", { class: "to", text: to }))));
}

function way(listed, about) {
  const { explanation: found } = listed;
  const called = found.changes.map(({ feature }) => feature).join(" and ");
  return h("li", { class: `card way ${isPicked(listed) ? "selected" : ""}` },
    h("h4", { text: called }), changesOf(listed), badge(found), facts(found.shown), waysThere(listed, about, `the change of ${called}`));
}

/** A menu: a card for every way that would do, nearest first. */
function menu({ sentence, answer, explanations, left_off: more }, { about, kind }) {
  const told = paragraphs(sentence);
  if (answer.status === "already" || !explanations.length) return h("div", { class: "spoken" }, told);
  return [h("div", { class: "spoken" }, told[0]), h("ol", { class: "ways" }, explanations.map((one) => way(one, about))),
    more > 0 && h("p", { class: "hint", text: `${more} more, farther away, are in the report.` }), h("div", { class: "spoken" }, told.slice(1)), reliedOn(about, kind)];
}

/** A fact: what it is and, on the same range, what would undo it. */
function fact(written, name, from, listed, about) {
  const undone = listed?.explanation.changes.find(({ feature }) => feature === name) ?? { feature: name, from };
  return h("li", { class: `card way ${listed && isPicked(listed) ? "selected" : ""}` }, h("h4", { text: written }), pictureOf(undone),
    listed && h("p", { class: "hint", text: `Without it, this would do: ${listed.changes}.` }), listed && waysThere(listed, about, `what undoes ${name}`));
}

/** Reasons: every fact as a picture, with what would do without it, and then the sentence. */
function reasons({ sentence, answer, explanations }, { about, kind }) {
  const undone = new Map(explanations.map((one) => [one.name, one]));
  const names = Object.keys(answer.facts);
  return [names.length > 0 && h("ul", { class: "ways fact-list" }, names.map((name, i) => fact(answer.written[i], name, answer.facts[name], undone.get(name), about))),
    h("div", { class: "spoken" }, paragraphs(sentence)), explanations.length > 0 && reliedOn(about, kind)];
}

export const menuSlot = () => slot({ name: "menu", title: "What else would do?", hint: "Every smallest set of features that can make the difference, nearest first.", text: "Show all ways", draw: menu });

export const reasonsSlot = () => slot({ name: "reasons", title: "Which facts settle it?", hint: "As long as these stay as they are, nothing else that changes makes a difference.", text: "Find the facts", draw: reasons });
