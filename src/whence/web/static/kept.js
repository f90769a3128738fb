// What a link asks for may not fit the scene it names: what fits is kept, the rest is named.

import { ownWish } from "./state.js";

const finite = (value) => typeof value === "number" && Number.isFinite(value);

const isDay = (value) => typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value);

/** Whether `value` is one that the feature can have. */
function fits(feature, value) {
  if (feature.kind === "date") return isDay(value);
  if (feature.kind === "binary") return [true, false, 0, 1].includes(value);
  if (feature.kind === "categorical" || feature.values?.length) return feature.values.includes(value);
  return finite(value);
}

/** Whether `limit` is one that the feature can be given. */
function limits(feature, limit) {
  if (feature.kind === "binary" || feature.change === "fixed") return false;
  if (feature.kind === "categorical") return limit.length > 0 && limit.every((value) => feature.values.includes(value));
  const fit = feature.kind === "date" ? isDay : finite;
  return limit.length === 2 && limit.every((end) => end === null || fit(end)) && limit.some(fit);
}

/** What is wished of a plan, where the plans of a scene can be like that, otherwise null. */
function wishes({ type, nodes, edges, parts }, wish) {
  const known = new Set(type === "route" ? [...nodes.map(({ id }) => id), ...edges.map(({ name }) => name), ...edges.map(({ from, to }) => [from, to])].map((item) => JSON.stringify(item)) : parts);
  const fit = ([how, items]) => ((how.startsWith("at_") || how === "between") ? type === "quantities" && Object.keys(items).every((part) => known.has(part))
    : type === "route" && items.every((item) => known.has(JSON.stringify(item))));
  return Object.entries(wish).every(fit) ? wish : null;
}

/** The parts of a link that fit `scene`, and `dropped`: what does not, in words. */
export function fitting(scene, kept) {
  const features = new Map(scene.features.map((feature) => [feature.name, feature]));
  const dropped = [];
  const sift = (entries, words, good) => Object.fromEntries(Object.entries(entries ?? {}).filter(([name, value]) => {
    const ok = features.has(name) && good(features.get(name), value);
    if (!ok) dropped.push(words(name));
    return ok;
  }));
  const context = sift(kept.context, (name) => `the value of ${name}`, fits);
  const allowed = sift(kept.limits, (name) => `the limit of ${name}`, limits);
  const locks = (kept.locks ?? []).filter((name) => {
    if (!features.has(name)) dropped.push(`the lock of ${name}`);
    return features.has(name);
  });
  const before = sift(kept.before, (name) => `the earlier value of ${name}`, fits);
  const whole = Object.keys(before).length === features.size;
  const wished = wishes(scene.plan, kept.wish ?? {});
  if (kept.wish && !wished) dropped.push("what is wished of a plan");
  // Without its wish, a question about a set has no subject.
  const wish = kept.wish ? wished ?? {} : ownWish(scene);
  const lacking = !Object.keys(wish).length;
  const about = kept.about === "set" && lacking ? { about: "mine", asked: [] } : {};
  const forecast = scene.forecasts.some(({ outcome }) => outcome === kept.forecast?.outcome) ? kept.forecast : null;
  if (kept.forecast && !forecast) dropped.push("what is asked of a forecast");
  const fit = { compare: whole, forecast: Boolean(forecast) };
  const more = (kept.more ?? []).filter((name) => fit[name] ?? (kept.subject && !(kept.subject[0] === "set" && lacking)));
  return { ...kept, ...about, more, forecast, before: whole ? before : null, context, limits: allowed, locks, wish, dropped };
}
