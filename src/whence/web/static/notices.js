// What is said to everybody: a banner while the server is away, and a live region for screen readers.

import { api, ApiError } from "./api.js";
import { byId, h, icon, put } from "./dom.js";
import { state, update } from "./state.js";

/** Say `text` to a screen reader. */
export function announce(text) {
  const region = byId("announcer");
  region.append(h("p", { text }));
  // Two answers may come at once: each is a line of its own, and old ones go.
  while (region.childElementCount > 4) region.firstElementChild.remove();
}

let waiting = false;
const recovered = new Set();

/** Call `act` whenever the server answers again after it was away. */
export function onRecovery(act) {
  recovered.add(act);
}

function banner(kind, text) {
  const node = byId("banner");
  node.hidden = !text;
  node.className = `banner ${kind}`;
  put(node, text && icon(kind === "good" ? "check" : "warn"), text && h("span", { text }));
}

async function waitForServer() {
  if (waiting) return;
  waiting = true;
  banner("bad", "The server does not answer. Everything you have set is kept; trying again …");
  update({ online: false });
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    try {
      await api.health();
      break;
    } catch (error) {
      if (error instanceof ApiError && error.kind !== "offline") break;
    }
  }
  waiting = false;
  update({ online: true });
  banner("good", "The server answers again.");
  setTimeout(() => { if (state.online) banner("", ""); }, 4000);
  for (const act of recovered) act();
}

/** A failed call in one sentence; where the server is gone, the page waits for it. */
export function failed(error) {
  if (error instanceof ApiError) {
    if (error.kind === "offline") waitForServer();
    return error.message;
  }
  console.error(error);
  return "Something went wrong in this page; reload it, your settings are in its address.";
}

/** A message in place of a panel's content. */
export function emptyState(title, text, ...actions) {
  return h("div", { class: "empty" }, h("h1", { class: "empty-title", text: title }), text && h("p", { text }), actions);
}
