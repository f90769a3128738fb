// Distance against the number of changes, next to the slider for it: what every further change saves.

import { button, h, s } from "./dom.js";
import { plain } from "./format.js";
import { pictureOf } from "./multiples.js";
import { isPicked, paragraphs, reliedOn, slot, waysThere } from "./slot.js";
import { ask, state } from "./state.js";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [320, 150, 16, 26, 34];

const finite = (distance) => (typeof distance === "number" && Number.isFinite(distance) ? distance : null);
const words = (allowed, last) => (last && allowed > 1 ? `${allowed} or more` : String(allowed));

/** The chart: a dot per number of changes, filled where it is proved, and a cross where so few do not suffice. */
function chart(allowed, explanations, sentence) {
  const far = explanations.map(({ explanation }) => finite(explanation.distance));
  const most = Math.max(...far.filter((one) => one !== null), 1e-12);
  const step = (WIDTH - 2 * LEFT) / explanations.length;
  const x = (i) => LEFT + step * (i + 0.5);
  const y = (distance) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * distance) / most;
  const known = far.map((distance, i) => [i, distance]).filter(([, distance]) => distance !== null);
  const path = known.map(([i, distance]) => `${x(i).toFixed(1)} ${y(distance).toFixed(1)}`).join("L");
  return s("svg", { class: "chart front-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": sentence },
    s("line", { x1: LEFT, x2: WIDTH - LEFT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, class: "axis" }),
    path && s("path", { d: `M${path}`, class: "front-line" }),
    explanations.map(({ explanation }, i) => [
      far[i] === null
        ? s("text", { x: x(i), y: HEIGHT - BOTTOM - 8, class: "small mid", text: explanation.status === "none" ? "none" : "open" })
        : [s("circle", { cx: x(i), cy: y(far[i]), r: 5.5, class: `front-dot ${explanation.status === "optimal" ? "proved" : ""}` }),
          s("text", { x: x(i), y: y(far[i]) - 11, class: "small mid number", text: plain(far[i], 3) })],
      s("text", { x: x(i), y: HEIGHT - BOTTOM + 16, class: "small mid", text: words(allowed[i], i === allowed.length - 1) }),
    ]),
    s("text", { x: WIDTH / 2, y: HEIGHT - 4, class: "small mid", text: "distance, by the number of changes" }));
}

function front({ sentence, answer, explanations }, { about, kind }) {
  const found = explanations.filter(({ then }) => then);
  if (found.length < 1 || explanations[0].explanation.status === "already") return h("div", { class: "spoken" }, paragraphs(sentence));
  const lines = sentence.split("\n");
  const all = state.scene.features.length;
  const rows = explanations.map((listed, i) => {
    const allowed = answer.allowed[i];
    const last = i === answer.allowed.length - 1;
    const set = () => ask({ conditions: { ...state.conditions, changes: last ? all : allowed } });
    return h("li", { class: isPicked(listed) ? "selected" : "" }, h("p", { text: lines[i] }),
      listed.then && h("div", { class: "multiples" }, listed.explanation.changes.map((change) => h("div", {}, h("span", { class: "hint", text: change.feature }), pictureOf(change)))),
      listed.then && h("div", { class: "row" }, waysThere(listed, about, `the context with ${words(allowed, last)} ${allowed > 1 ? "changes" : "change"}`),
        button("Set the slider", set, { class: "button quiet", label: last ? "Set the slider to any number of changes" : `Set the slider to ${allowed}` })));
  });
  return [h("div", { class: "front-answer" }, rows.length > 1 && h("figure", {}, chart(answer.allowed, explanations, sentence)), h("ol", { class: "front-rows" }, rows)),
    lines.slice(explanations.length).map((text) => h("p", { class: "hint", text })), reliedOn(about, kind)];
}

export const frontSlot = () => slot({ name: "front", title: "How few changes would do?", hint: "The nearest context with one change, with at most two, and so on.", text: "How few changes would do?", draw: front, apart: true });
