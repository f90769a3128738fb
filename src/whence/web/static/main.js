// Starts the page: scenes, theme, link, and the panels.

import { api } from "./api.js";
import { startContext } from "./context.js";
import { startDecisions } from "./decisions.js";
import { button, byId, h, icon, put, throttled } from "./dom.js";
import { startExplanation } from "./explanation.js";
import { explain, forget, kindsOf } from "./jobs.js";
import { fitting } from "./kept.js";
import { readLink, writeLink } from "./link.js";
import { listed } from "./format.js";
import { announce, emptyState, failed, onRecovery } from "./notices.js";
import { startMore } from "./more.js";
import { askOther, forgetOthers } from "./others.js";
import { startOutcomes } from "./outcomes.js";
import { startPlan } from "./plan.js";
import { showQuality } from "./quality.js";
import { startStory } from "./story.js";
import { startStrips } from "./strips.js";
import { openScene, state, subscribe, update } from "./state.js";
import { startUndo, undone } from "./undo.js";

const THEMES = ["auto", "light", "dark"];
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

function stored(key, value) {
  // Storage may be forbidden; the page works without.
  try {
    if (value !== undefined) window.localStorage.setItem(key, value);
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

function startTheme() {
  let theme = THEMES.includes(stored("whence-theme")) ? stored("whence-theme") : "auto";
  const toggle = h("button", { type: "button", class: "tool large" });
  function show() {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
    put(toggle, icon(THEME_ICONS[theme]));
    toggle.setAttribute("aria-label", `Colours: ${theme}`);
    toggle.title = `Colours: ${theme}`;
  }
  toggle.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    stored("whence-theme", theme);
    show();
  });
  show();
  return toggle;
}

function linkButton() {
  const node = button("Copy link", async () => {
    writeLink();
    let said = "Link copied";
    try {
      await navigator.clipboard.writeText(window.location.href);
    } catch {
      said = "The link is in the address bar";
    }
    node.querySelector("span").textContent = said;
    announce(said);
    setTimeout(() => { node.querySelector("span").textContent = "Copy link"; }, 2500);
  }, { icon: "link", id: "copy-link" });
  return node;
}

/** Show `text` where the panels will be, or the panels. */
function cover(...content) {
  byId("cover").hidden = !content.length;
  byId("workspace").hidden = Boolean(content.length);
  put(byId("cover"), content);
}

function loading(text) {
  return h("div", { class: "loading", role: "status" }, h("i", { class: "spinner", "aria-hidden": "true" }), h("p", { text }));
}

/** Say something about the link, in addition to what was said of it; nothing takes all of it back. */
function note(text = null) {
  const node = byId("link-note");
  node.textContent = text === null ? "" : [node.textContent, text].filter(Boolean).join(" ");
  node.hidden = !node.textContent;
}

/** A scene's id as a name: the title is the heading below. */
function named(id) {
  const words = id.replace(/[-_]+/g, " ").trim() || id;
  return words.replace(/(^| )\p{Ll}/gu, (start) => start.toUpperCase());
}

let opening = 0;

async function open(id, kept = {}) {
  opening += 1;
  const mine = opening;
  forget();
  forgetOthers();
  byId("scene").value = id;
  cover(loading("Learning from the history …"));
  try {
    const scene = await api.scene(id);
    if (mine !== opening) return;
    byId("title").textContent = scene.title;
    byId("question").textContent = scene.question;
    document.title = `${scene.title} · whence`;
    cover();
    const fit = fitting(scene, kept);
    if (fit.dropped.length) note(`Part of the link does not fit this scene and was left out: ${listed(fit.dropped)}.`);
    openScene(scene, fit);
    showQuality(id);
    if (fit.asked?.length || fit.more?.length) askWhenReady(fit);
  } catch (error) {
    if (mine !== opening) return;
    cover(emptyState("This page cannot be opened.", failed(error), button("Try again", () => open(id, kept), { class: "button primary" })));
  }
}

/** Ask again what a link had asked, as soon as the decision is there and, where it is about one, the plan. */
function askWhenReady({ about = "mine", asked: kinds = [], more = [], subject = null, before = null, forecast = null }) {
  const given = { compare: before, forecast };
  const ofPlan = (about === "mine" && kinds.length > 0) || (subject?.[0] === "mine" && more.some((name) => !(name in given)));
  let waiting = true;
  subscribe(() => {
    if (!waiting || !state.decision || (ofPlan && !state.check)) return;
    waiting = false;
    const asked = kinds.filter((kind) => kindsOf(about).includes(kind));
    queueMicrotask(() => {
      if (asked.length && (about !== "mine" || state.check.feasible)) explain(about, asked);
      if (more.length) update({ subject });
      for (const name of more) if (!(name in given) || given[name]) askOther(name, given[name]);
    });
  });
}

async function start() {
  const kept = readLink(window.location.hash);
  cover(loading("Starting …"));
  try {
    update({ scenes: await api.scenes() });
  } catch (error) {
    cover(emptyState("whence is not there yet.", failed(error), button("Try again", start, { class: "button primary" })));
    return;
  }
  const picker = byId("scene");
  put(picker, state.scenes.map((scene) => h("option", { value: scene.id, text: named(scene.id) })));
  // The heading below names the only one.
  picker.parentElement.hidden = state.scenes.length === 1;
  picker.onchange = () => { note(); open(picker.value); };
  if (!state.scenes.length) {
    cover(emptyState("There is nothing to decide yet.", "Start “whence serve” with a project, or without one for the built-in examples."));
    return;
  }
  const known = state.scenes.some((scene) => scene.id === kept.scene);
  const notes = [kept.scene && !known && `There is no scene called “${kept.scene}” here.`, kept.unread.length && "Part of the link could not be read."];
  note();
  for (const text of notes.filter(Boolean)) note(text);
  await open(known ? kept.scene : state.scenes[0].id, known ? kept : {});
}

put(byId("header-tools"), startUndo(), linkButton(), startTheme());
startContext();
startPlan();
startExplanation();
startMore();
startOutcomes();
startDecisions();
startStrips();
startStory();
subscribe(throttled(writeLink, 150));
window.addEventListener("hashchange", ({ newURL }) => {
  // Not the address as it is now: the page may have written its own into it since.
  const { hash } = new URL(newURL);
  if (hash.includes("scene=") && !undone(hash)) start();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  // The part behind "#" is the state: the way to the plans must not overwrite it.
  event.preventDefault();
  byId("plan-panel").focus();
});
onRecovery(() => { if (!state.scene) start(); });
start();
