// Finding a place by its name, where a map has too many to look for it.

import { freshId } from "./controls.js";
import { h } from "./dom.js";

/** Names that are all different: where two places share one, it is told which is meant. */
function namesFor(nodes) {
  const times = new Map();
  for (const { label } of nodes) times.set(label, (times.get(label) ?? 0) + 1);
  return new Map(nodes.map(({ id, label }) => [times.get(label) > 1 ? `${label} (${[id].flat().join(", ")})` : label, id]));
}

/** A field that calls `found(id)` with the place whose name was chosen or typed. */
export function placeSearch(nodes, found) {
  const names = namesFor(nodes);
  const list = freshId("places");
  const note = h("p", { class: "hint", role: "status" });
  const field = h("input", { type: "search", list, placeholder: "Find a place", "aria-label": "Find a place", autocomplete: "off", enterkeyhint: "search" });

  function matches(text) {
    const wanted = text.trim().toLowerCase();
    const all = [...names.keys()];
    const exact = all.filter((name) => name.toLowerCase() === wanted);
    if (exact.length) return exact;
    const starting = all.filter((name) => name.toLowerCase().startsWith(wanted));
    return starting.length ? starting : all.filter((name) => name.toLowerCase().includes(wanted));
  }

  let chosen = "";
  function choose(name) {
    note.textContent = "";
    field.value = name;
    chosen = name;
    found(names.get(name));
  }

  field.addEventListener("input", (event) => {
    note.textContent = "";
    chosen = "";
    // A name taken from the list, and not one that is still being typed.
    if (names.has(field.value) && event.inputType !== "insertText" && event.inputType !== "deleteContentBackward") choose(field.value);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !field.value.trim()) return;
    event.preventDefault();
    // Taken from the list already: Enter would go there twice.
    if (field.value === chosen) return;
    const hits = matches(field.value);
    if (hits.length === 1) choose(hits[0]);
    else note.textContent = hits.length ? `${hits.length} places have that in their name: go on typing.` : `There is no place called “${field.value.trim()}”.`;
  });
  return h("div", { class: "place-search" }, field, h("datalist", { id: list }, [...names.keys()].map((name) => h("option", { value: name }))), note);
}
