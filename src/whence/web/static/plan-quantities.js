// Quantities as bars that can be dragged or typed, with the budget as one goes.

import { legend } from "./charts.js";
import { freshId, numberField } from "./controls.js";
import { button, h } from "./dom.js";
import { askWhenChecked } from "./explanation.js";
import { plain } from "./format.js";
import { ask, planName, shownPlan, shownThen, state } from "./state.js";
import { wishAmount, wishBar } from "./wish.js";

const SLACK = 1e-6;
/** Parts share an axis where their scales differ by no more than this factor; room is left beyond the longest bar. */
const COMMON = 25;
const ROOM = 1.2;
/** An amount that exceeds everything else by more than this factor is cut off: most likely it is a slip of the hand. */
const SLIP = 3;
/** Ends of axes, so that an axis does not change with every stroke of a key. */
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

const sum = (plan) => plan.reduce((total, amount) => total + amount, 0);

/** Null where `plan` can be carried out as far as the page knows, otherwise the reason why it cannot. */
export function quantitiesProblem({ parts, budget, lower = [], upper = [], whole = [] }, plan) {
  if (!Array.isArray(plan) || plan.length !== parts.length) return "Your plan needs a number for every part.";
  const slack = SLACK * Math.max(1, ...plan.map(Math.abs));
  for (const [j, amount] of plan.entries()) {
    if (!Number.isFinite(amount)) return `${parts[j]} needs a number.`;
    if (lower[j] !== null && lower[j] !== undefined && amount < lower[j] - slack) return `${parts[j]} must be at least ${plain(lower[j])}, not ${plain(amount)}.`;
    if (upper[j] !== null && upper[j] !== undefined && amount > upper[j] + slack) return `${parts[j]} must be at most ${plain(upper[j])}, not ${plain(amount)}.`;
    if (whole[j] && Math.abs(amount - Math.round(amount)) > slack) return `${parts[j]} must be a whole number, not ${plain(amount)}.`;
  }
  const total = sum(plan);
  if (budget !== null && budget !== undefined && total > budget + slack) {
    return `Together the parts make ${plain(total)}, which is ${plain(total - budget, 4)} more than the ${plain(budget)} there is room for.`;
  }
  return null;
}

function roundUp(number) {
  if (!(number > 0)) return number;
  const power = 10 ** Math.floor(Math.log10(number));
  return (ROUND.find((lead) => lead * power >= number * (1 - 1e-12)) ?? 10) * power;
}

/** Whether `plan` has a number, or an empty field, for every part. */
const isList = (plan, parts) => Array.isArray(plan) && plan.length === parts.length && plan.every((amount) => amount === null || Number.isFinite(amount));

function stepOf(end, whole) {
  if (whole) return 1;
  const rough = end / 200;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough) ?? power;
}

/** The view of a scene whose plans are lists of numbers, as bars or (for general problems) as a table. */
export function quantitiesView(scene) {
  const shape = scene.plan;
  const bars = shape.type === "quantities";
  const scales = shape.parts.map((_, j) => shape.scale?.[j] || shape.upper?.[j] || shape.budget || 1);
  // One axis for all, so that bars can be compared, unless the small ones could not be seen on it.
  const common = Math.max(...scales) <= COMMON * Math.min(...scales);
  let ends = shape.parts.map(() => 0);
  /** While a bar is dragged its axis stays: it must not run away from the hand. */
  let dragging = false;

  /** Axes long enough for every plan, but not for a slip of the hand. */
  function stretch(yours, others) {
    if (dragging) return;
    const usual = shape.parts.map((_, j) => Math.max(0, ...others.map((plan) => plan?.[j] ?? 0)) || scales[j] / ROOM);
    const together = (most) => (common ? most.map(() => Math.max(...most)) : most);
    const least = together(usual);
    const most = together(usual.map((amount, j) => Math.max(amount, Math.min(yours?.[j] ?? 0, SLIP * least[j]))));
    ends = most.map((amount) => roundUp(ROOM * amount));
  }

  const amounts = () => (isList(shownPlan(), shape.parts) ? shownPlan() : shape.parts.map((_, j) => Math.max(0, shape.lower?.[j] ?? 0)));
  const setAmount = (j, amount) => ask({ plan: amounts().map((old, i) => (i === j ? amount : old)), check: null });

  const rows = shape.parts.map((part, j) => {
    const id = freshId("part");
    const field = numberField({ id, label: `Your plan: ${part}`, set: (amount) => setAmount(j, amount) });
    field.node.addEventListener("keydown", (event) => { if (event.key === "Enter") askWhenChecked(); });
    const decided = h("span", { class: "decided" });
    const decidedBar = h("i", { class: "q-bar d" });
    const yourBar = h("i", { class: "q-bar a" });
    const thenBar = h("i", { class: "q-bar t" });
    const range = bars && h("input", { type: "range", min: 0, step: stepOf(scales[j], shape.whole?.[j]), "aria-label": `Your plan: ${part}, drag`,
      oninput: () => setAmount(j, Number(range.value)),
      onpointerdown: () => { dragging = true; },
      onchange: () => { dragging = false; draw(); } });
    const track = bars && h("div", { class: "q-track" }, decidedBar, yourBar, thenBar, range);
    const node = h("div", { class: "q-row", "data-part": part },
      h("label", { for: id, text: part, title: part }), track, decided, field.node);
    node.addEventListener("focusin", () => { chosen = j; offer(); });
    function sync(decision, yours, then) {
      const width = (amount) => `${Math.max(0, Math.min(1, (amount ?? 0) / ends[j])) * 100}%`;
      decided.textContent = decision ? plain(decision[j], 5) : "–";
      decided.title = "decision";
      field.sync(yours?.[j]);
      node.classList.toggle("lacking", yours?.[j] === null);
      node.classList.toggle("unset", !Number.isFinite(yours?.[j]));
      if (!bars) return;
      yourBar.classList.toggle("cut", (yours?.[j] ?? 0) > ends[j]);
      range.max = ends[j];
      range.value = yours?.[j] ?? 0;
      range.setAttribute("aria-valuetext", plain(yours?.[j] ?? 0));
      decidedBar.style.width = width(decision?.[j]);
      yourBar.style.width = width(yours?.[j]);
      thenBar.style.setProperty("left", width(then?.[j]));
      thenBar.hidden = !then;
      thenBar.title = then ? `decision then: ${plain(then[j], 5)}` : "";
    }
    return { node, sync };
  });

  // Limits on parts are for problems of quantities; what a table holds, only its problem knows.
  const wish = bars ? wishBar("Choose a quantity to ask when a plan with at least, or at most, that much would be right.") : null;
  let chosen = null;
  let offered = "";

  /** Offer limits on the part whose field or bar was used last, at the quantity that it has. */
  function offer() {
    const amount = chosen === null ? null : shownPlan()?.[chosen] ?? null;
    const mark = JSON.stringify([chosen, amount]);
    if (!wish || mark === offered) return;
    offered = mark;
    const part = shape.parts[chosen];
    wish.offer(part, amount === null ? [] : [["at_least", "At least"], ["at_most", "At most"]].map(([how, words]) => (
      { text: `${words} ${plain(amount)}`, act: () => wishAmount(how, part, amount) })));
  }

  const meter = shape.budget === null || shape.budget === undefined ? null : budgetMeter(shape.budget);
  const head = h("div", { class: "q-row q-head", "aria-hidden": "true" }, h("span"), bars && h("span"),
    h("span", { class: "decided", text: "decision" }), h("span", { class: "yours", text: "your plan", "data-second": "short" }));
  const node = h("div", { class: `picture ${bars ? "with-bars" : "as-table"}` }, bars && legend("block"),
    h("div", { class: "q-rows" }, head, rows.map((row) => row.node)), meter?.node, wish?.node);
  const copy = button("Start from the decision", () => { if (state.decision) ask({ plan: [...state.decision.plan], check: null }); }, { icon: "pen" });

  function draw() {
    const then = state.stage === "then" ? shownThen()?.plan : null;
    const yours = isList(shownPlan(), shape.parts) ? shownPlan() : null;
    stretch(yours, [state.decision?.plan, shownThen()?.plan]);
    for (const row of rows) row.sync(state.decision?.plan, yours, then);
    node.classList.toggle("stage-then", Boolean(then));
    meter?.sync(state.decision?.plan, yours);
    wish?.sync();
    offer();
  }
  // A drag may end outside of its bar, and without having changed anything.
  for (const end of ["pointerup", "pointercancel"]) node.addEventListener(end, () => { dragging = false; });

  return { node, tools: [copy], problem: (plan) => quantitiesProblem(shape, plan), update: draw };
}

function budgetMeter(budget) {
  const text = h("p", { class: "budget-text", role: "status" });
  const fill = h("i", { class: "budget-fill" });
  const node = h("div", { class: "budget" }, h("div", { class: "budget-track", "aria-hidden": "true" }, fill), text);
  return {
    node,
    sync(decision, yours) {
      const total = yours ? sum(yours) : 0;
      const lacking = yours?.some((amount) => amount === null) ? " so far" : "";
      const over = total > budget + SLACK * Math.max(1, budget);
      node.classList.toggle("over", over);
      fill.style.width = `${Math.min(1, total / (budget || 1)) * 100}%`;
      const rest = over ? `${plain(total - budget, 4)} too many` : `${plain(budget - total, 4)} left`;
      const other = decision ? ` The decision uses ${plain(sum(decision), 5)}.` : "";
      text.textContent = `${planName() === "your plan" ? "Your plan" : "The plan that takes over"} uses ${plain(total, 5)} of ${plain(budget)}${lacking}: ${rest}.${other}`;
    },
  };
}
