// The panel of other questions, and what they are about.

import { byId, h, put } from "./dom.js";
import { forecastSlot } from "./forecast.js";
import { rulesSlot } from "./prices.js";
import { menuSlot, reasonsSlot } from "./side-by-side.js";
import { sinceSlot } from "./since.js";
import { subject, subjects, subjectWords } from "./others.js";
import { state, subscribe, update } from "./state.js";

/** A choice of what the questions are about. */
function subjectChoice() {
  const node = h("select", { id: "subject", onchange: () => update({ subject: node.value.split(" ") }) });
  let drawn = "";
  return {
    node: h("label", { class: "limit subject" }, h("span", { text: "about" }), node),
    sync() {
      const offered = subjects().map((one) => [one.join(" "), subjectWords(...one)]);
      const mark = JSON.stringify(offered);
      if (mark !== drawn) put(node, offered.map(([one, text]) => h("option", { value: one, text })));
      drawn = mark;
      node.value = subject().join(" ");
    },
  };
}

export function startMore() {
  const choice = subjectChoice();
  const slots = [menuSlot(), reasonsSlot(), sinceSlot(), forecastSlot(), rulesSlot()];
  put(byId("more-tools"), choice.node);
  put(byId("more"), slots.map(({ node }) => node));
  subscribe(() => {
    if (!state.scene) return;
    choice.sync();
    for (const one of slots) one.sync();
  });
}
