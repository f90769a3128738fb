// What both plans cost, how that spreads, and which past observations speak: today, and in the context found.

import { costBars, distribution, legend } from "./charts.js";
import { button, byId, h, icon, put } from "./dom.js";
import { listed, plain, share, value, withUnit } from "./format.js";
import { term } from "./terms.js";
import { ask, planName, shownChanges, shownResult, shownThen, state, subscribe, takingOver, update } from "./state.js";

const PLAY = 1500;

function speakerRow(speaker, heaviest, fresh) {
  const bar = h("i", { class: "weight" });
  bar.style.width = `${(100 * speaker.weight) / heaviest}%`;
  const told = state.scene.features.slice(0, 5).map((feature) => `${feature.name} ${value(speaker.context[feature.name], feature, 4)}`);
  const number = String(speaker.row);
  return h("tr", { class: fresh ? "fresh" : "" }, h("th", { scope: "row" },
    h("button", { type: "button", class: "as-link", title: `Set the controls to observation ${number}`, text: speaker.label,
      onclick: () => ask({ context: { ...speaker.context } }) }),
    speaker.label === number ? null : h("span", { class: "hint", text: ` no. ${number}` })),
    h("td", { class: "told", text: told.join(" · ") }),
    h("td", { class: "weighing" }, h("span", { class: "weight-track", "aria-hidden": "true" }, bar), h("span", { text: share(speaker.weight) })));
}

function speakers(decision, earlier) {
  const before = new Set((earlier?.speaking ?? []).map((speaker) => speaker.row));
  const heaviest = Math.max(...decision.speaking.map((speaker) => speaker.weight), 1e-12);
  const fresh = earlier ? decision.speaking.filter((speaker) => !before.has(speaker.row)).length : 0;
  const said = `${decision.speakers} of ${state.scene.observations} past observations have a weight; these weigh most.`
    + (fresh ? ` ${fresh} of them (marked) were not among the heaviest today.` : "");
  return [h("p", { class: "hint", text: said }),
    h("table", { class: "speakers" }, h("thead", {}, h("tr", {}, ["observation", "context", "weight"].map((text) => h("th", { scope: "col", text })))),
      h("tbody", {}, decision.speaking.map((speaker) => speakerRow(speaker, heaviest, earlier && !before.has(speaker.row)))))];
}

/** The costs in a sentence. */
function compared(then, [first, second, third]) {
  if (!Number.isFinite(first) || !Number.isFinite(second)) return "";
  const unit = state.scene.cost_unit;
  const close = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1);
  const told = (a, b) => (close(a, b) ? "as much as" : `${withUnit(plain(Math.abs(a - b), 2), unit)} ${a > b ? "more" : "less"} than`);
  const name = takingOver() && then ? `the ${planName()}` : "your plan";
  if (!then) return `In the context as it is, your plan costs ${told(second, first)} the decision.`;
  const own = close(second, third)
    ? "No plan would be better there."
    : `The policy would decide otherwise there, for ${withUnit(plain(Math.abs(second - third), 2), unit)} less than ${name}.`;
  return `In the context found, ${name} costs ${told(second, first)} today’s decision. ${own}`;
}

function stageBar() {
  const buttons = ["today", "then"].map((stage) => h("button", { type: "button", role: "radio", class: "segment", "data-stage": stage,
    onclick: () => update({ stage }) }, stage === "today" ? "Today" : "Then"));
  const segments = h("div", { class: "segments", role: "radiogroup", "aria-label": "Which context is shown" }, buttons);
  segments.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    update({ stage: state.stage === "today" ? "then" : "today" });
    buttons.find((entry) => entry.dataset.stage === state.stage).focus();
  });
  const text = h("p", { class: "stage-text" });
  const play = button("Play", () => {
    update({ stage: "today" });
    setTimeout(() => { if (shownThen()) update({ stage: "then" }); }, PLAY / 2);
  }, { icon: "play", class: "button quiet", label: "Play from today to then" });
  put(byId("stage"), segments, text, play);
  return () => {
    const there = shownThen();
    byId("stage").hidden = !there;
    if (!there) return;
    for (const entry of buttons) {
      const on = entry.dataset.stage === state.stage;
      entry.setAttribute("aria-checked", String(on));
      entry.tabIndex = on ? 0 : -1;
    }
    const changes = [...shownChanges().values()].slice(0, 3).map(({ feature, from, words }) => {
      const kind = state.scene.features.find((other) => other.name === feature);
      return `${feature} ${state.stage === "then" ? words : value(from, kind)}`;
    });
    text.textContent = changes.length ? listed(changes) : "nothing has to change";
    byId("stage").classList.toggle("then", state.stage === "then");
  };
}

export function startOutcomes() {
  const costs = costBars("Cost");
  const spread = distribution();
  const heading = h("h3");
  const caption = h("p", { class: "hint" });
  const speaking = h("div", { class: "speaking" });
  put(byId("outcomes"), legend("block"), h("div", { class: "pair" },
    h("figure", {}, heading, costs.node, caption),
    h("figure", {}, h("h3", { text: "How the outcomes spread" }), spread.node,
      h("figcaption", { class: "hint", text: "What either plan would have cost under the past observations, by their weight. Marked: what is minimised." }))),
  h("h3", {}, "Which past observations ", term("speak")), speaking);
  const syncStage = stageBar();

  subscribe((changed) => {
    if (!state.scene) return;
    if (!["scene", "decision", "check", "stage", "selected", "answer", "picked", "explanations", "stale"].some((key) => changed.has(key))) return;
    syncStage();
    const { decision, check } = state;
    const found = shownThen();
    const then = state.stage === "then" ? found : null;
    const today = [decision?.cost ?? NaN, check?.cost ?? NaN];
    const there = found ? [found.decision.cost, found.alternative.cost, found.cost] : [];
    const unit = state.scene.cost_unit;
    costs.update(then ? there : today, then ? today : there, unit);
    // With a context found, today and then are drawn in the same bins; without, both plans are.
    // The plan that takes over is not the one that is shown today.
    const both = found && (then || !takingOver()) && shownResult().explanation.spread;
    spread.update(both || check?.spread || decision?.spread, both && then ? 1 : 0, unit);
    if (heading.textContent !== state.scene.risk) put(heading, term("risk", state.scene.risk));
    caption.textContent = compared(then, then ? there : today);
    byId("outcomes").classList.toggle("stage-then", Boolean(then));
    byId("outcomes-stage").textContent = then ? "then" : "today";
    put(speaking, (then ?? decision) ? speakers(then ?? decision, then ? decision : null) : h("p", { class: "soft", text: "…" }));
  });
}
