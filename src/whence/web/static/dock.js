// What must be within reach wherever one is on the page: on a narrow window the question, and today and then everywhere.

import { byId } from "./dom.js";

/** The width at which the style sheet puts the panels below each other. */
const NARROW = window.matchMedia("(max-width: 860px)");

/** Keep `question`, the button and what is said beside it, in the dock on a narrow window and in its panel on a wide one. */
export function startDock(question) {
  const place = () => (NARROW.matches ? byId("dock") : byId("ask-bar")).prepend(question);
  NARROW.addEventListener("change", place);
  place();
}
