// Contexts that the history does not reach: they are decided all the same, but not without a word.

import { plain, value } from "./format.js";
import { shownContext, state } from "./state.js";

/** How a value lies outside of what is on record for the feature: a sentence without its subject, or an empty text. */
export function outside(feature, raw) {
  const { recorded, kind } = feature;
  if (!recorded || raw === null || raw === undefined) return "";
  if (kind === "categorical") return recorded.includes(raw) ? "" : "is not in the history.";
  const [low, high] = recorded;
  if (kind === "date") return raw >= low && raw <= high ? "" : `lies outside the years of the history, ${low.slice(0, 4)} to ${high.slice(0, 4)}.`;
  if (Number(raw) >= low && Number(raw) <= high) return "";
  if (kind === "binary") return `was never ${value(raw, feature)} in the history.`;
  const unit = feature.unit ? ` ${feature.unit}` : "";
  return low === high ? `lies outside the history, which has ${plain(low)}${unit} only.` : `lies outside the history, which has ${plain(low)} to ${plain(high)}${unit}.`;
}

/** Such a sentence for every feature of the context that is shown. */
export function allOutside() {
  const shown = shownContext();
  return state.scene.features.map((feature) => [feature, outside(feature, shown[feature.name])]).filter(([, said]) => said)
    .map(([feature, said]) => (feature.kind === "binary" ? `${feature.name} ${said}` : `${feature.name} ${value(shown[feature.name], feature)} ${said}`));
}
