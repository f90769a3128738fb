// One control a feature: slider, stepper, select or switch. Each has a node and a sync(value) that never moves the focus.

import { button, h } from "./dom.js";
import { day, plain } from "./format.js";

let serial = 0;
export const freshId = (prefix) => `${prefix}-${(serial += 1)}`;

/**
 * A field for one number. What is no number is marked, and `set` is told: null for an empty field, NaN for what cannot be
 * read where the field may stay empty; where it may not, both are null.
 */
export function numberField({ label, set, optional = false, ...attributes }) {
  const node = h("input", { type: "number", class: "number-field", "aria-label": label, inputmode: "decimal", step: "any", ...attributes });
  node.addEventListener("input", () => {
    const empty = node.value.trim() === "";
    const bad = node.validity.badInput || (empty && !optional) || (!empty && !Number.isFinite(Number(node.value)));
    node.setAttribute("aria-invalid", String(bad));
    set(bad ? (optional ? NaN : null) : empty ? null : Number(node.value));
  });
  return {
    node,
    sync(value) {
      const none = value === null || value === undefined || Number.isNaN(value);
      // What somebody types stays as it is, to the last digit, and so does what cannot be read.
      if (document.activeElement === node && (none ? node.value === "" : node.value !== "" && Number(node.value) === value)) return;
      const text = none ? "" : plain(value, 6);
      if (node.value !== text) node.value = text;
      if (!none || optional) node.removeAttribute("aria-invalid");
    },
  };
}

function slider(feature, id, set, strip) {
  const ranged = Number.isFinite(feature.low) && Number.isFinite(feature.high) && feature.high > feature.low;
  const field = numberField({ id, set, "aria-description": feature.unit && `in ${feature.unit}` });
  const parts = [];
  let range = null;
  const part = (value) => Math.max(0, Math.min(1, (value - feature.low) / (feature.high - feature.low)));
  // The middle of the thumb keeps half its width from either end.
  const share = (value) => `calc(8.5px + (100% - 17px) * ${part(value)})`;
  const marker = h("i", { class: "then-mark", hidden: true, "aria-hidden": "true" });
  if (ranged) {
    range = h("input", { type: "range", min: feature.low, max: feature.high, step: "any", "aria-label": `${feature.name}, slider` });
    const step = feature.step ?? (feature.high - feature.low) / 100;
    range.addEventListener("input", () => {
      // Snapped here and not by the browser, so that a value between two steps stays where it is until it is moved.
      const snapped = Math.round(Number(range.value) / step) * step;
      set(Math.min(Math.max(Number(snapped.toPrecision(12)), feature.low), feature.high));
    });
    range.addEventListener("keydown", (event) => {
      const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      const next = (Math.round(Number(range.value) / step) + moves[event.key]) * step;
      set(Math.min(Math.max(Number(next.toPrecision(12)), feature.low), feature.high));
    });
    parts.push(h("div", { class: "slider" }, range, marker, strip,
      h("div", { class: "ends", "aria-hidden": "true" }, h("span", { text: plain(feature.low, 4) }), h("span", { text: plain(feature.high, 4) }))));
  }
  parts.push(h("span", { class: "with-unit" }, field.node, feature.unit && h("span", { class: "unit", text: feature.unit })));
  return {
    node: h("div", { class: "control ranged" }, parts),
    sync(value, then) {
      field.sync(value);
      if (!range || value === null) return;
      range.value = value;
      range.style.setProperty("--at", share(value));
      range.setAttribute("aria-valuetext", `${plain(value)} ${feature.unit}`.trim());
      marker.hidden = then === undefined;
      if (then !== undefined) marker.style.setProperty("--part", part(then));
    },
  };
}

function stepper(feature, id, set, strip) {
  const values = feature.values ?? [];
  let now = values[0];
  const move = (by) => {
    const near = values.findIndex((value) => value >= now);
    const place = near < 0 ? values.length - 1 : near;
    set(values[Math.max(0, Math.min(values.length - 1, place + by))]);
  };
  const field = h("select", { id, onchange: () => set(values[field.selectedIndex]) },
    values.map((value) => h("option", { value, text: plain(value) })));
  const less = button("−", () => move(-1), { class: "button step", label: `${feature.name}: one less` });
  const more = button("+", () => move(1), { class: "button step", label: `${feature.name}: one more` });
  return {
    node: h("div", { class: "control" }, h("div", { class: "stepper" }, less, field, more, feature.unit && h("span", { class: "unit", text: feature.unit })), strip),
    sync(value) {
      now = value;
      field.selectedIndex = values.indexOf(value);
      less.disabled = value <= values[0];
      more.disabled = value >= values.at(-1);
    },
  };
}

function chooser(feature, id, set, strip) {
  const values = feature.values ?? [];
  const node = h("select", { id, onchange: () => set(values[node.selectedIndex]) },
    values.map((value) => h("option", { text: String(value) })));
  return { node: h("div", { class: "control" }, node, strip), sync: (value) => { node.selectedIndex = values.findIndex((v) => String(v) === String(value)); } };
}

function toggle(feature, id, set, strip) {
  let on = false;
  let numeric = false;
  const text = h("span", { class: "switch-text" });
  const node = h("button", { id, type: "button", role: "switch", class: "switch", "aria-label": feature.name,
    onclick: () => set(numeric ? Number(!on) : !on) }, h("i", { "aria-hidden": "true" }), text);
  return {
    node: h("div", { class: "control" }, node, strip),
    sync(value) {
      numeric = typeof value === "number";
      on = Boolean(Number(value));
      node.setAttribute("aria-checked", String(on));
      text.textContent = on ? "on" : "off";
    },
  };
}

/** A field for one date; `set` is told null for an empty field or a date that is not complete. */
function dateField({ set, ...attributes }) {
  const node = h("input", { type: "date", class: "date-field", ...attributes });
  node.addEventListener("input", () => {
    node.setAttribute("aria-invalid", String(node.validity.badInput));
    set(node.value || null);
  });
  return { node, sync: (value) => { if (node.value !== (value ?? "")) node.value = value ?? ""; } };
}

function calendar(feature, id, set, strip) {
  const field = dateField({ id, set });
  const said = h("span", { class: "unit" });
  return {
    node: h("div", { class: "control" }, field.node, said, strip),
    sync(value) {
      // What is being typed is not complete yet.
      if (value !== null) field.sync(value);
      said.textContent = value ? day(value).split(" ")[0] : "";
    },
  };
}

const MAKERS = { continuous: slider, discrete: stepper, categorical: chooser, binary: toggle, date: calendar };

/** The control of `feature`; `sync(value, then)` shows a value and, on a slider, where the explanation would put it. A `strip` stands along it. */
export function control(feature, id, set, strip = null) {
  const maker = feature.kind === "discrete" && !feature.values?.length ? slider : MAKERS[feature.kind];
  return maker(feature, id, set, strip);
}

/** Limits in words, as "from 3 to 20 °C", or "Monday or Tuesday". */
export function limitWords(feature, limit) {
  if (feature.kind === "categorical") return limit.length ? limit.map(String).join(" or ") : "nothing";
  const [low, high] = limit.map((end) => (feature.kind === "date" ? end && day(end) : Number.isFinite(end) ? plain(end) : null));
  const words = [low !== null && `from ${low}`, high !== null && `to ${high}`].filter(Boolean).join(" ");
  return feature.unit ? `${words} ${feature.unit}` : words;
}

/** Limits of a feature for the explanation: from and to, or the categories allowed; null means no limit. */
export function limitFields(feature, set) {
  if (feature.kind === "categorical") {
    const boxes = (feature.values ?? []).map((value) => {
      const box = h("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        const allowed = (feature.values ?? []).filter((_, i) => boxes[i].box.checked);
        set(allowed.length === boxes.length ? null : allowed);
      });
      return { box, node: h("label", { class: "tick" }, box, h("span", { text: String(value) })) };
    });
    return {
      node: h("fieldset", { class: "limits" }, h("legend", { text: "may become" }), boxes.map((entry) => entry.node)),
      sync(limit) { boxes.forEach(({ box }, i) => { box.checked = !limit || limit.includes(feature.values[i]); }); },
    };
  }
  let limits = [null, null];
  const dated = feature.kind === "date";
  const ends = ["from", "to"].map((word, i) => (dated ? dateField : numberField)({
    ...(dated ? { "aria-label": `${feature.name}: explanation may go ${word}` }
      : { label: `${feature.name}: explanation may go ${word}`, optional: true, placeholder: plain(i ? feature.high : feature.low, 4) }),
    set: (value) => { limits = limits.map((old, j) => (i === j ? value : old)); set(limits.every((end) => end === null) ? null : limits); },
  }));
  const note = h("p", { class: "warning", hidden: true });
  return {
    node: h("fieldset", { class: "limits" }, h("legend", { text: "may go" }),
      ["from", "to"].map((word, i) => h("label", {}, h("span", { text: word }), ends[i].node)),
      feature.unit && h("span", { class: "unit", text: feature.unit }), note),
    sync(limit) {
      limits = limit ?? [null, null];
      ends.forEach((end, i) => end.sync(limits[i]));
      const crossed = limits[0] !== null && limits[1] !== null && limits[0] > limits[1];
      note.hidden = !crossed && !limits.some(Number.isNaN);
      note.textContent = crossed ? "The first limit must not exceed the second." : "A limit is a number, or empty for none.";
    },
  };
}
