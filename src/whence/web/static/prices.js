// Two questions about the policy itself: at which prices would your plan be right, and what does it do in general?

import { h } from "./dom.js";
import { plain } from "./format.js";
import { paragraphs, slot } from "./slot.js";
import { term } from "./terms.js";

const percent = (share) => `${plain(100 * share, Math.abs(share) < 0.995 ? 2 : 3)} %`;

/** A proved bound, rounded up: what is said is never less than was proved. */
function atMost(share) {
  const step = 10 ** (Math.floor(Math.log10(Math.max(100 * share, 1e-9))) - 1);
  return `${plain(Math.ceil((100 * share) / step - 1e-9) * step, 3)} %`;
}

/** The prices that would be others, largest changes first. */
function prices({ sentence, answer }) {
  const changes = [...answer.changes].sort((one, other) => other.counts - one.counts);
  const shown = changes.slice(0, 12);
  const cell = (tag, text, scope) => h(tag, { text, scope });
  return [h("div", { class: "spoken" }, paragraphs(sentence)),
    shown.length > 0 && h("table", { class: "plan-table price-table" },
      h("thead", {}, h("tr", {}, ["price", "today", "then", "factor"].map((text) => cell("th", text, "col")))),
      h("tbody", {}, shown.map(({ parameter, from, to }) => h("tr", {}, cell("th", parameter, "row"), [plain(from, 4), plain(to, 4), from ? `× ${plain(to / from, 3)}` : "–"].map((text) => cell("td", text)))))),
    answer.kind === "relative" && h("p", { class: "hint", text: "At no prices is it the best of all plans; these make it as good as the decision." }),
    changes.length > shown.length && h("p", { class: "hint", text: `${changes.length - shown.length} more are in the report.` })];
}

export const pricesSlot = () => slot({ name: "prices", title: "At which prices?", hint: "The context stays as it is: which prices, nearest to today’s, would make your plan right?", text: "At which prices?", draw: prices, apart: true });

/** A bar for every number of rules, next to one plan for all. */
function simplicity({ average, curve }) {
  const known = curve.filter(({ extra }) => extra !== null).map(({ rules, extra }) => [rules === 1 ? "1 rule" : `${rules} rules`, extra]);
  if (!known.length) return null;
  const bars = average === null ? known : [["one plan for all", average], ...known];
  const most = Math.max(...bars.map(([, extra]) => extra), 1e-9);
  return h("figure", {}, h("ol", { class: "shares simplicity" }, bars.map(([name, extra]) => {
    const bar = h("i", { class: "share-bar" });
    bar.style.left = "0";
    bar.style.width = `${Math.max(1, (100 * Math.max(extra, 0)) / most)}%`;
    return h("li", {}, h("span", { class: "share-name", text: name }), h("div", { class: "share-track", "aria-hidden": "true" }, bar), h("span", { class: "share-amount", text: percent(extra) }));
  })), h("figcaption", { class: "hint" }, term("simplicity", "The price of simplicity"), ": how much more than the policy they cost on rows not seen."));
}

/** What is known of a rule, besides its plan. */
function known({ share, extra, error, worst_at_most: most, worst_at_least: least }) {
  const costs = extra === null ? "" : `; ${percent(extra)} (± ${percent(error)}) more than the policy on rows not seen`;
  const worst = most === null ? `; somewhere ${least === null ? "far" : `at least ${percent(least)}`} above the best plan` : `; nowhere more than ${atMost(most)} above the best plan, proved`;
  return `${percent(share)} of the history${costs}${worst}.`;
}

/** The rules one below the other, and what simplicity costs. */
function rules({ sentence, answer }) {
  return [simplicity(answer), h("div", { class: "spoken" }, paragraphs(sentence)),
    h("ol", { class: "rule-list" }, answer.rules.map((rule) => h("li", {},
      h("p", {}, h("span", { text: rule.condition === "always" ? "Always: " : `If ${rule.condition}: ` }), h("b", { text: rule.told })), h("p", { class: "hint", text: known(rule) }))))];
}

export const rulesSlot = () => slot({ name: "rules", title: "What does it do in general?", hint: "The policy as a few rules: what they cost more than it on rows not seen, and how far each can be off, proved.", text: "Show it as a few rules", draw: rules });
