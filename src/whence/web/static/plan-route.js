// A route on the map of its network, and drawing one's own: place by place, along real streets only.

import { legend } from "./charts.js";
import { button, h, put } from "./dom.js";
import { hops, keyOf, networkMap } from "./map.js";
import { announce } from "./notices.js";
import { Network } from "./routes.js";
import { placeSearch } from "./search.js";
import { ask, planName, shownPlan, shownThen, state, update } from "./state.js";
import { wishBar, wishFor } from "./wish.js";

/** What covers the top and, on a phone, the bottom of the window, in pixels. */
const HEADER = 64;
/** A route over more places than this is not read out whole. */
const MANY = 12;

/** The view of a scene whose plans are routes: {node, tools, problem(plan), update()}. */
export function routeView(scene) {
  const network = new Network(scene.plan);
  let draft = null;
  /** How long the draft was before each choice: a step back takes back a choice, however far it led. */
  let choices = [];
  let refused = "";
  let offered = "";
  const map = networkMap(scene.plan, { onpick: (id) => pick(id, () => map.focus()), onback: () => undo(() => map.focus()), onmark: choose });
  const wish = wishBar("Click a place or a street to ask when a route through it, or around it, would be right.");
  const status = h("p", { class: "drawing-status", role: "status" });
  const stops = h("div", { class: "stops", role: "group", "aria-label": "Next place" });
  const undoButton = button("Undo", () => undo(), { icon: "undo" });
  const finishButton = button("Finish the shortest way", () => pick(scene.plan.target), { icon: "check" });
  const bar = h("div", { class: "drawing-bar", hidden: true }, status, stops,
    h("div", { class: "row" }, undoButton, finishButton, button("Stop drawing", stop, { icon: "cross", class: "button quiet" })));
  const start = button("Draw your route", begin, { icon: "pen", class: "button your" });
  const search = placeSearch(scene.plan.nodes, (id) => {
    map.reveal(id, { mark: true });
    if (draft) pick(id);
    else choose({ place: id });
  });
  const node = h("div", { class: "picture" }, h("div", { class: "map-head" }, legend("line"), h("div", { class: "map-finder" }, search, map.tools)), map.node, wish.node, bar);
  node.addEventListener("keydown", (event) => { if (event.key === "Escape" && draft) stop(); });

  /** Offer what can be wished of the place or street that was clicked; nothing takes it back. */
  function choose({ place, edge } = {}) {
    // Clicked again: it is offered already.
    const mark = JSON.stringify([place, edge]);
    if (mark === offered) return;
    offered = mark;
    if (place !== undefined) {
      const ends = [scene.plan.source, scene.plan.target].map(keyOf).includes(keyOf(place));
      wish.offer(network.label(place), ends ? [] : [
        { text: "Through it", act: () => wishFor("through", [place]) }, { text: "Avoiding it", act: () => wishFor("avoiding", [place]) }]);
    } else if (edge) {
      const { name, ways, whole } = network.street(edge);
      wish.offer(name, [...ways.map(({ text, items }) => ({ text, act: () => wishFor("using", items) })),
        { text: "Avoiding it", act: () => wishFor("avoiding", whole) }]);
    } else wish.offer("");
  }

  function begin() {
    draft = [scene.plan.source];
    choices = [];
    refused = "";
    update({ drawing: true });
    map.reveal(scene.plan.source);
    // On a phone the button stands below the map, which would stay out of sight.
    const box = map.node.getBoundingClientRect();
    if (box.top < HEADER || box.bottom > window.innerHeight - HEADER) node.scrollIntoView({ block: "start" });
    map.focus();
  }

  function stop() {
    draft = null;
    update({ drawing: false });
    start.focus();
  }

  function undo(refocus) {
    if (!draft || draft.length < 2) return;
    draft = draft.slice(0, choices.pop());
    refused = "";
    map.reveal(draft.at(-1), { closer: false });
    show();
    refocus?.();
  }

  function pick(id, refocus) {
    if (draft.some((been) => keyOf(been) === keyOf(id))) {
      refused = keyOf(id) === keyOf(draft.at(-1)) ? `You are at ${network.label(id)} already.` : `Your route has been to ${network.label(id)} already: undo a step to go back.`;
      show();
      return;
    }
    const way = network.way(draft, id);
    if (!way) {
      refused = `From ${network.label(draft.at(-1))} there is no way to ${network.label(id)} that does not visit a place twice: undo a step.`;
      show();
      return;
    }
    choices.push(draft.length);
    draft = [...draft, ...way.slice(1)];
    refused = "";
    if (network.done(draft)) {
      const plan = draft;
      draft = null;
      ask({ plan, check: null, drawing: false });
      start.focus({ preventScroll: true });
      announce(`Your route reaches ${network.label(scene.plan.target)}.`);
      return;
    }
    map.reveal(draft.at(-1), { closer: false });
    show();
    refocus?.();
  }

  function told(edge) {
    const along = edge.name ? ` along ${edge.name}` : "";
    return `Go to ${network.label(edge.to)}${along}`;
  }

  function showBar() {
    bar.hidden = !draft;
    start.disabled = Boolean(draft);
    if (!draft) return;
    const next = network.next(draft);
    const here = network.label(draft.at(-1));
    status.classList.toggle("warning", Boolean(refused) || !next.length);
    status.textContent = refused || (next.length
      ? `You are at ${here}. Choose the next place, or any place further on.`
      : `No street leads on from ${here} to a place that you have not been to: undo a step.`);
    undoButton.disabled = draft.length < 2;
    finishButton.disabled = !network.way(draft, scene.plan.target);
    put(stops, next.map((edge) => button(network.label(edge.to), () => pick(edge.to, () => stops.querySelector("button")?.focus()),
      { class: "button stop-button", label: told(edge) })));
  }

  function show() {
    const then = state.stage === "then" ? shownThen() : null;
    const offered = new Map(draft ? network.next(draft).map((edge) => [keyOf(edge.to), told(edge)]) : []);
    const alternative = draft ?? (Array.isArray(shownPlan()) ? shownPlan() : []);
    map.show({ decision: state.decision?.plan ?? [], then: then?.plan ?? [], alternative, offered, drawing: Boolean(draft),
      title: said(alternative, then), wished: network.within([...(state.wish.through ?? []), ...(state.wish.using ?? [])]),
      shunned: network.within(state.wish.avoiding ?? []) });
    node.classList.toggle("stage-then", Boolean(then));
    showBar();
    wish.sync();
  }

  function said(alternative, then) {
    const decided = state.decision?.plan ?? [];
    const streets = (route) => [...new Set(hops(route).map(([u, v]) => network.edge(u, v)?.name).filter(Boolean))].join(", ");
    const stops = (route) => (route.length > MANY ? [...route.slice(0, MANY / 2), ...route.slice(-MANY / 2)] : route).map((id) => network.label(id)).join(", ");
    const places = (route) => (route.length > MANY ? `${route.length} places, the first and last of which are ${stops(route)}` : stops(route));
    const told = (name, route) => (route.length > 1 ? ` ${name}: ${streets(route) || places(route)}.` : "");
    return `Map from ${network.label(scene.plan.source)} to ${network.label(scene.plan.target)}.${told("Decision", decided)}${told(planName().replace(/^./, (first) => first.toUpperCase()), alternative)}${then ? told("Decision then", then.plan) : ""}`;
  }

  return {
    node,
    tools: [start],
    problem: (plan) => network.problem(plan),
    update(changed) {
      if (changed.has("drawing") && !state.drawing) draft = null;
      show();
    },
  };
}
