// Verdict strips: along every control, the others as they are, where the decision, your plan or another one is best.

import { api } from "./api.js";
import { h, put } from "./dom.js";
import { day, plain, value } from "./format.js";
import { term } from "./terms.js";
import { missing, shownContext, state, subscribe, update } from "./state.js";

const WORDS = { decision: "the decision", alternative: "your plan", another: "another plan" };
const LOOKS = { decision: "d", alternative: "a", another: "o" };
/** Where a verdict turns is written where it is at least this far from other turns; an end that is nearer than that is not. As shares of the strip. */
const [APART, FROM_END] = [0.24, 0.34];
/** With more choices than this, they are not named. */
const NAMED = 8;

const days = (entry) => Date.parse(`${entry}T00:00:00Z`) / 864e5;
const number = (entry) => (typeof entry === "string" ? days(entry) : Number(entry));
const percent = (part) => `${(100 * part).toFixed(2)}%`;

/** The ends of a strip as numbers. */
const endsOf = ({ stretches }) => [number(stretches[0].begin), number(stretches.at(-1).end)];

/** What else is to be seen of a stretch: which of the two plans is ahead, and whether all is known. */
const ways = ({ ahead, settled: known }) => `${ahead === "alternative" ? "ahead" : ""} ${known ? "" : "open"}`;

/** A strip in words. */
function told(strip, feature) {
  const best = (one) => `${WORDS[one.verdict]} is best`;
  if (!strip.ordered) return strip.stretches.map((one) => `${value(one.begin, feature)}: ${best(one)}`).join("; ");
  const from = (one) => (feature.kind === "date" ? day(one.begin) : value(one.first ?? one.begin, feature, 4));
  return strip.stretches.map((one, i) => (i ? `from ${from(one)} on ${best(one)}` : best(one))).join(", ");
}

/** Days and months, of which the first letters are enough. */
const CALENDAR = new Set(("monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag "
  + "january february march april may june july august september october november december januar februar märz mai juni juli oktober dezember").split(" "));
const LETTERS = 3;

/** What the choices are called below a strip: days and months by their first letters, where it is narrow. */
function called(texts) {
  const dated = texts.every((text) => CALENDAR.has(text.toLowerCase()));
  return texts.map((text) => (dated ? [text.slice(0, LETTERS), h("span", { class: "tail", text: text.slice(LETTERS) })] : text));
}

/** The choices of a category or switch, each with its verdict; a click takes one. */
function choices(strip, feature, now, set) {
  const named = strip.stretches.length <= NAMED && called(strip.stretches.map(({ begin }) => value(begin, feature)));
  return h("div", { class: "strip-choices" }, strip.stretches.map((one, i) => {
    const is = String(feature.kind === "binary" ? Number(now) : now) === String(one.begin);
    const taken = feature.kind === "binary" && typeof now === "boolean" ? Boolean(one.begin) : one.begin;
    return h("span", { class: `choice ${is ? "now" : ""}`, title: `${value(one.begin, feature)}: ${WORDS[one.verdict]} is best`, onclick: () => set(taken) },
      h("i", { class: `stretch ${LOOKS[one.verdict]} ${ways(one)}` }), named && h("span", { class: "choice-name" }, named[i]));
  }));
}

/** Keep a number at its place below a strip, and near an end within it. */
function inside(node, at) {
  node.style.transform = `translateX(-${at < 0.2 ? 250 * at : at > 0.8 ? 100 - 250 * (1 - at) : 50}%)`;
  return node;
}

/** Numbers or days side by side, and where the verdict turns. */
function line(strip, feature, now) {
  const [low, high] = endsOf(strip);
  const at = (entry) => (high > low ? Math.max(0, Math.min(1, (number(entry) - low) / (high - low))) : 0);
  const placed = (node, left, width) => {
    node.style.left = percent(left);
    if (width !== undefined) node.style.width = percent(width);
    return node;
  };
  const written = [];
  const turns = strip.stretches.map((one, i) => ({ ...one, before: strip.stretches[i - 1]?.last })).slice(1).filter(({ begin }) => {
    const free = written.every((other) => Math.abs(other - at(begin)) > APART);
    if (free) written.push(at(begin));
    return free;
  });
  /** Where it turns: at a number or, where the feature takes none in between, from one to the next. */
  const turn = ({ before, first, begin }) => (typeof before === "number" && typeof first === "number" ? `${plain(before, 4)} | ${plain(first, 4)}` : text(begin));
  const text = (entry) => (feature.kind === "date" ? day(entry).split(" ").slice(1, 3).join(" ") : plain(entry, 3));
  return h("div", { class: "strip-line" },
    h("div", { class: "strip-track" }, strip.stretches.map((one) => placed(h("i", { class: `stretch ${LOOKS[one.verdict]} ${ways(one)}` }), at(one.begin), Math.max(high > low ? at(one.end) - at(one.begin) : 1, 0.004))),
      now !== null && now !== undefined && placed(h("i", { class: "strip-now" }), at(now))),
    h("div", { class: "strip-numbers" }, h("span", { class: written.some((part) => part < FROM_END) ? "covered" : "", text: text(strip.stretches[0].begin) }), turns.map((one) => inside(placed(h("span", { class: "turn", text: turn(one) }), at(one.begin)), at(one.begin))),
      h("span", { class: written.some((part) => part > 1 - FROM_END) ? "covered" : "", text: text(strip.stretches.at(-1).end) })));
}

/** The place of a control's strip: {node, sync(now)}; `set` takes a choice that is clicked. */
export function stripOf(feature, set) {
  const node = h("div", { class: "strip", role: "img", hidden: true });
  let drawn = null;
  let at;
  return {
    node,
    sync(now) {
      const strip = state.strips?.[feature.name];
      node.hidden = !strip;
      if (!strip || (drawn === strip && at === now)) return;
      [drawn, at] = [strip, now];
      const known = strip.stretches.every(({ settled }) => settled) && strip.exact;
      const words = `Along ${feature.name}: ${told(strip, feature)}${known ? "" : ", as far as is known"}.`;
      node.setAttribute("aria-label", words);
      node.title = strip.ordered ? words : "";
      put(node, strip.ordered ? line(strip, feature, now) : choices(strip, feature, now, set));
    },
  };
}

/** What the colours of the strips mean. */
export function stripLegend() {
  const entries = Object.entries(WORDS).map(([verdict, text]) => [verdict, h("span", { class: "entry" }, h("i", { class: `stretch key ${LOOKS[verdict]}`, "aria-hidden": "true" }), h("span", { text }))]);
  const node = h("p", { class: "legend strip-legend" }, term("strips", "best:"), entries.map(([, entry]) => entry));
  return {
    node,
    sync() {
      const seen = new Set(Object.values(state.strips ?? {}).flatMap(({ stretches }) => stretches.map(({ verdict }) => verdict)));
      node.hidden = !seen.size;
      for (const [verdict, entry] of entries) entry.hidden = !seen.has(verdict);
    },
  };
}

let asking = null;
let again = false;

const settled = (strips) => strips.every(({ stretches }) => stretches.every((one) => one.settled));

/** Ask for the strips of the context that is shown; while one answer is on its way, the next question waits for it. What it leaves open is asked for again, patiently. */
async function follow(patient = false) {
  if (asking) { again = true; return; }
  if (!state.decision || missing().length) return;
  const { scene } = state;
  const then = state.stage === "then";
  asking = true;
  let open = false;
  try {
    const plan = state.check?.feasible ? state.plan : null;
    const { strips } = await api.strips(scene.id, { context: shownContext(), plan, patient, ...(then ? { decision: state.decision.plan } : {}) });
    open = !patient && !settled(strips);
    if (state.scene === scene) update({ strips: Object.fromEntries(strips.map((strip) => [strip.feature, strip])) });
  } catch {
    // The decision says what is wrong with the server or the context.
    if (state.scene === scene) update({ strips: null });
  }
  asking = null;
  if (again || open) follow(!again);
  again = false;
}

export function startStrips() {
  subscribe((changed) => {
    if (!state.scene) return;
    if (changed.has("scene")) update({ strips: null });
    if (["decision", "check", "stage", "selected", "answer", "picked"].some((key) => changed.has(key))) follow();
  });
}
