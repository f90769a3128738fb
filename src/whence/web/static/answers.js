// One answer in its card: its proof, what it says, how far it may be relied on, and the rule.

import { bringIntoView, button, byId, h, icon } from "./dom.js";
import { aligned, duration, plain, share, withUnit } from "./format.js";
import { explain } from "./jobs.js";
import { term } from "./terms.js";
import { ask, isShown, state, thenOf, update } from "./state.js";

/** What comes instead of today's plan, where no plan of one's own was asked about: it is named, and can be made one's own. */
export function successor({ text, plan }) {
  const take = () => ask({ plan, check: null, drawing: false });
  return h("div", { class: "successor" }, h("p", {}, h("b", { text: "Takes over: " }), h("span", { text })),
    button("Make it my plan", take, { label: "Make the plan that takes over my plan" }));
}

/** What both plans, and the policy's own plan, cost in the context found: one line. */
export function costsThere({ explanation: found, then }) {
  if (!then || found.status === "already") return null;
  const paid = [then.alternative.cost, then.decision.cost, then.cost];
  const texts = aligned(paid).map((text) => withUnit(text, state.scene.cost_unit));
  const own = Math.abs(then.cost - then.alternative.cost) <= 1e-9 * Math.max(Math.abs(then.cost), 1);
  const entry = (plan, name, text, title) => h("span", { class: `paid ${plan}`, title }, h("span", { text: `${name} ` }), h("b", { text }), " ");
  return h("p", { class: "costs-there" }, h("span", { class: "soft", text: "Costs there: " }), entry("a", found.among ? "the plan that takes over" : "your plan", texts[0]), entry("d", "the decision", texts[1]),
    own ? h("span", { class: "soft", text: found.among ? "it is the policy’s own there" : "yours is the policy’s own there" }) : entry("t", "the policy’s own plan", texts[2], then.text));
}

const BADGES = {
  optimal: ["good", "check", "Proved nearest"],
  already: ["good", "check", "Holds already"],
  none: ["plain", "check", "Proved: none exists"],
  time_limit: ["open", "warn", "Time is up: best so far"],
  interrupted: ["open", "warn", "Stopped: best so far"],
};
/** Lines of the certificate with a word that needs one. */
const NAMED = {
  status: "proved", kind: "absolute", risk: "risk", distance: "distance", "proved lower bound": "gap", gap: "gap", confidence: "confidence", usual: "usual", "asked for no less usual than": "usual",
  "tolerance on costs": "tolerance", "boxes or nodes searched": "boxes", "holds in": "refits", "true in the world": "worlds", "true by standard errors": "worlds",
  "model of the world": "worlds",
  engine: "engine", "asked for": "asked", "asked for no more than": "conditions", "rival plans met": "rivals", "separation of neighbours": "separation",
};
/** What is explained of a badge. */
const PROOFS = { optimal: "proved", none: "none", already: "already", time_limit: "proved", interrupted: "proved" };
const NOTHING_YET = { time_limit: "Time is up: nothing found", interrupted: "Stopped: nothing found yet" };

/** The lines of an answer, the verdict first; both plans are on the page already. */
export function linesOf({ verdict, poor = "", staying, exact, forecast = "", costs, there = "", certainty, remedy }) {
  return [verdict, poor, staying, exact, forecast, costs, there, certainty, remedy].flatMap((text) => text.split("\n")).filter(Boolean);
}

/** What an answer says besides its verdict, in paragraphs and a list. */
function spoken(shown, brief) {
  const rest = linesOf(brief ? { ...shown, staying: "", exact: "" } : shown).slice(1);
  const items = rest.filter((line) => line.startsWith("  - "));
  return h("div", { class: "spoken" }, items.length > 0 && h("ul", {}, items.map((line) => h("li", { text: line.slice(4) }))),
    rest.filter((line) => !line.startsWith("  - ")).map((line) => h("p", { text: line.trim() })));
}

/** All of an answer that is not in its first three lines, folded: what stays, the costs in words, how usual it is, and the rule. */
export function restOf(found, brief = false) {
  const { shown } = found;
  return h("details", { class: "rest" }, h("summary", { text: "More about it" }), spoken(shown, brief), found.context && facts(shown), rule(shown));
}

/** How sure the answer itself is, and how far away its context. */
export function badge(found) {
  const [tone, picture, said] = BADGES[found.status] ?? ["plain", "check", found.status];
  const text = (!found.context && NOTHING_YET[found.status]) || said;
  return h("p", { class: `badge ${tone}` }, icon(picture), PROOFS[found.status] ? term(PROOFS[found.status], text) : h("span", { text }),
    Number.isFinite(found.distance) && found.status !== "already" && h("span", { class: "distance" }, term("distance"), ` ${plain(found.distance, 4)}`));
}

/** How often such answers are true, or how many refits agree, with a dot for each of them. */
function agreement({ held, reliance, shown }) {
  if (!shown.agreed) return null;
  const dots = Array.from({ length: held?.refits ?? 0 }, (_, i) => h("i", { class: i < held.times ? "dot yes" : "dot" }));
  return h("div", { class: `agreement ${shown.reliable ? "good" : "open"}` }, dots.length > 0 && h("span", { class: "dots", "aria-hidden": "true" }, dots),
    h("p", {}, shown.agreed, " ", reliance?.refits === "worlds" ? term("worlds", "How is that known?") : term("refits", "What is a refit?")),
    moreTime(reliance));
}

/** Where there was no time for all simulated worlds: how to have more. */
function moreTime(reliance) {
  if (reliance?.refits !== "worlds" || (reliance.worlds && reliance.worlds.worlds >= reliance.worlds.of)) return null;
  const { timeLimit, mostTime } = state;
  const longer = mostTime > timeLimit && Number.isFinite(mostTime);
  const again = () => {
    if (longer) update({ timeLimit: mostTime });
    explain(state.about);
  };
  return h("p", { class: "more-time" }, button(longer ? `Ask again, for up to ${duration(mostTime)}` : "Ask again", again, { class: "as-link" }),
    !longer && `, or have the page started with a longer limit: whence serve --time-limit ${plain(Math.max(300, 2 * timeLimit))}.`);
}

const percent = (part) => `${(100 * part).toFixed(2)}%`;

/** A condition on a number: the part of its range in which the rule holds, a ring where it is, a dot where it was found. */
function line({ begin, end, was, found, ends }) {
  const inside = h("i", { class: "range-inside" });
  inside.style.left = percent(begin);
  inside.style.width = percent(end - begin);
  const marks = [["was", was], ["found", found]].filter(([, place]) => typeof place === "number").map(([name, place]) => {
    const mark = h("i", { class: `range-mark ${name}` });
    mark.style.left = percent(place);
    return mark;
  });
  return [h("div", { class: "range-line", "aria-hidden": "true" }, inside, marks),
    h("div", { class: "range-ends", "aria-hidden": "true" }, ends.map((text) => h("span", { text })))];
}

/** A condition on a category or switch: all of its values, those that the rule allows for filled. */
function values({ values: every, left_out: more = 0 }) {
  return h("ul", { class: "range-values", "aria-hidden": "true" }, every.map(({ text, inside, was, found }) =>
    h("li", { class: inside ? "inside" : "" }, (was || found) && h("i", { class: `range-mark ${found ? "found" : "was"}` }), text)),
  more > 0 && h("li", { class: "more", text: `and ${more} more` }));
}

/** Where else the answer stays true: the sentence, and every condition on the range of its feature. */
export function rule({ rule: said, ranges = [] }) {
  if (!said) return null;
  if (!ranges.length) return h("p", { class: "hint rule", text: said });
  return h("div", { class: "rule" }, h("p", { class: "rule-said", text: said }),
    ranges.map((range) => h("div", { class: "range" }, h("p", { class: "range-name", text: range.text }), range.values?.length ? values(range) : line({ begin: 0, end: 1, ...range }))),
    h("p", { class: "hint" }, "Shaded: where the rule holds. ", h("i", { class: "range-mark was", "aria-hidden": "true" }), " as it is, ",
      h("i", { class: "range-mark found", "aria-hidden": "true" }), " as found."));
}

export function facts({ gain = "", usual = "" }) {
  const told = [gain, usual].filter(Boolean);
  return told.length > 0 && h("ul", { class: "facts" }, told.map((text) => h("li", { text })));
}

/** The certificate of an answer, whose context was computed once more from `sources`. */
export function certificate(found, sources = "the fitted model and the decision problem") {
  return h("details", { class: "certificate" }, h("summary", { text: "Certificate" }),
    h("dl", {}, found.shown.certificate
      .map(([name, text]) => h("div", {}, h("dt", {}, NAMED[name] ? term(NAMED[name], name) : name), h("dd", { text })))),
    found.context && h("p", { class: "hint", text: `Computed once more from ${sources} before it was shown.` }));
}

/** Links to an answer as a report and as data. */
export function filesOf(name, report, data) {
  const link = (href, ending, text) => h("a", { class: "button", href, download: `${name}.${ending}` }, icon("down"), h("span", { text }));
  return h("div", { class: "row downloads" }, link(report, "html", "Report (HTML)"), link(data, "json", "Data (JSON)"));
}

/** Switch the whole page to the context that was found, or back. */
function showOnPage(kind, which, then) {
  update({ selected: kind, answer: which, picked: null, stage: then ? "then" : "today" });
  document.querySelector(`.explanation-card[data-${which === "holds" ? "reliable" : "kind"}="${kind}"] .answer .button`)?.focus({ preventScroll: true });
  if (then) bringIntoView(byId("plan-panel"));
}

/** That the nearest answer tells where the policy turns, and how often such ones are true in simulated worlds. */
const turnsOnly = (part) => h("div", { class: "agreement open" },
  h("p", {}, `This is where the policy turns; ${share(part)} of such answers are true. `, term("worlds", "How is that known?")));

/** What a card shows of a result: `which` is "turns" for the nearest one, of which the share `truly` is true where that is known, "holds" for the one to rely on. */
export function answer(kind, which, result, truly = null) {
  const { explanation: found } = result;
  const { shown } = found;
  const then = thenOf(result);
  const onPage = isShown(kind, which) && state.stage === "then";
  return [
    badge(found),
    h("p", { class: "verdict", text: linesOf(shown)[0] }),
    linesOf(shown).length > 1 && !found.context && h("p", { class: "soft", text: shown.remedy.split("\n")[0] }),
    costsThere(result),
    agreement(found),
    truly !== null && turnsOnly(truly),
    found.among && result.then && successor(result.then.alternative),
    then && h("div", { class: "row" },
      button(onPage ? "Back to today" : "Show it", () => showOnPage(kind, which, !onPage), { icon: onPage ? "undo" : "play" }),
      button("Set the controls to it", () => ask({ context: { ...then.context } }), { class: "button quiet" })),
    restOf(found, which === "holds"),
    certificate(found),
  ];
}
