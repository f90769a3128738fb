// Elements are made by createElement and filled by textContent only: whatever a name holds, it stays text.

const SVG = "http://www.w3.org/2000/svg";

/** Children without what is left out by a condition, lists taken apart. */
const present = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...present(children));
  return node;
}

/** An HTML element: `h("p", {class: "soft", onclick: act}, "text", child)`. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element, in the same manner. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace what is inside `node`. */
export function put(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Scroll to a panel, unless it is in view: what stands beside it is to stay where it is. */
export function bringIntoView(node) {
  const { top, bottom } = node.getBoundingClientRect();
  const dock = byId("dock").getBoundingClientRect();
  const seen = Math.min(bottom, dock.height ? dock.top : window.innerHeight) - Math.max(top, 0);
  if (top < 0 || seen < 0.6 * Math.min(bottom - top, window.innerHeight)) node.scrollIntoView({ behavior: "smooth", block: "start" });
}

/** Lead who asked by key to the answer once it is there, unless the focus has gone elsewhere; `place` says where it is. */
export function leadTo(event, answered, place) {
  const asker = event.detail === 0 ? event.currentTarget : null;
  if (asker) answered.then(() => { if ([asker, document.body].includes(document.activeElement)) place()?.focus({ preventScroll: true }); });
}

const ICONS = {
  lock: "M6 10V7a4 4 0 0 1 8 0v3M4.5 10h11v7h-11z",
  open: "M6 10V7a4 4 0 0 1 7.6-1.7M4.5 10h11v7h-11z",
  limit: "M3 4v12M17 4v12M6 10h8M8.5 7.5 6 10l2.5 2.5M11.5 7.5 14 10l-2.5 2.5",
  undo: "M7 5 3.5 8.5 7 12M4 8.5h8a4 4 0 0 1 0 8H8",
  redo: "M13 5l3.500 3.500L13 12M16 8.500H8a4 4 0 0 0 0 8h4",
  pen: "M4 16l1-4 8-8 3 3-8 8zM11.5 5.5l3 3",
  link: "M8.5 11.5a3 3 0 0 0 4.2 0l2.8-2.8a3 3 0 0 0-4.2-4.2l-1 1M11.5 8.5a3 3 0 0 0-4.2 0l-2.8 2.8a3 3 0 0 0 4.2 4.2l1-1",
  down: "M10 3v10M6 9.5 10 13.5l4-4M4 17h12",
  check: "M4 10.5 8 14.5 16 6",
  cross: "M5 5l10 10M15 5 5 15",
  warn: "M10 3 18 17H2zM10 8v4M10 14.2v.6",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6 16 16M16 4l-1.4 1.4M5.4 14.6 4 16",
  moon: "M15.5 12.5A6.5 6.5 0 0 1 7.5 4.5a6.5 6.5 0 1 0 8 8z",
  auto: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  play: "M6 4l10 6-10 6z",
  dice: "M4 4h12v12H4zM7.5 7.5h.1M12.5 12.5h.1M10 10h.1",
  reset: "M4 10a6 6 0 1 0 2-4.5M4 3.5v3.5h3.5",
  whole: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4",
  find: "M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M12.5 12.5 17 17",
  arrow: "M4 10h12M11 5l5 5-5 5",
};

/** A small line icon; it says nothing to a screen reader. */
export function icon(name) {
  return s("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" },
    s("path", { d: ICONS[name] }));
}

/** A button with an optional icon; `attributes.label` is what a screen reader says where the text is not enough. */
export function button(text, onclick, { icon: picture, label, ...attributes } = {}) {
  const inside = [picture && icon(picture), text && h("span", { text })];
  return h("button", { type: "button", class: "button", onclick, "aria-label": label, title: label, ...attributes }, ...inside);
}

/** Call `act` when nothing has happened for `milliseconds`. */
export function debounced(act, milliseconds) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...args), milliseconds);
  };
}

/** Call `act` at most once in this many milliseconds, however often it is asked for, and never later than that. */
export function throttled(act, milliseconds) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => { timer = 0; act(); }, milliseconds);
  };
}
