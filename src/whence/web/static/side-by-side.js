// Answers side by side: every smallest set of features that would do, and the facts that settle it.

import { badge, facts } from "./answers.js";
import { h } from "./dom.js";
import { isPicked, paragraphs, slot, waysThere } from "./slot.js";
import { state } from "./state.js";

/** A number that changes on the range of its feature: a ring where it is, a dot where it would have to be; nothing for what is no number. */
function moved({ feature: name, from, to }) {
  const feature = state.scene.features.find((one) => one.name === name);
  if (![from, to, feature?.low, feature?.high].every(Number.isFinite) || !(feature.high > feature.low)) return null;
  const at = (value) => Math.max(0, Math.min(1, (value - feature.low) / (feature.high - feature.low)));
  const between = h("i", { class: "range-inside" });
  const [was, found] = [at(from), at(to)];
  between.style.left = `${100 * Math.min(was, found)}%`;
  between.style.width = `${100 * Math.abs(found - was)}%`;
  const marks = [["was", was], ["found", found]].map(([kind, place]) => {
    const mark = h("i", { class: `range-mark ${kind}` });
    mark.style.left = `${100 * place}%`;
    return mark;
  });
  return h("div", { class: "range-line", "aria-hidden": "true" }, between, marks);
}

/** What changes, one feature a line with its picture; the heading names a single one already. */
function changesOf({ explanation: { shown, changes } }) {
  return h("ul", { class: "changes" }, shown.changes.map(({ feature, from, to }, i, { length }) =>
    h("li", {}, moved(changes[i]), length > 1 && h("b", { text: `${feature} ` }), h("s", { text: from }), " → ", h("span", { class: "to", text: to }))));
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
