// Numbers and values as people write them; the same rules as the report's.

/** `number` with up to `digits` significant digits. */
export function plain(number, digits = 6) {
  if (number === null || number === undefined || Number.isNaN(number)) return "unknown";
  if (!Number.isFinite(number)) return number > 0 ? "infinite" : "minus infinity";
  const size = Math.abs(number);
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return number.toPrecision(digits);
  const decimals = size ? Math.max(0, digits - 1 - Math.floor(Math.log10(size))) : 0;
  const text = number.toFixed(Math.min(decimals, 20));
  const short = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return short === "-0" ? "0" : short;
}

/** Costs with the same decimals, as many as it takes to tell the first two apart. */
export function aligned(costs, least = 4) {
  const known = costs.filter(Number.isFinite);
  const size = Math.max(0, ...known.map(Math.abs));
  let decimals = size ? Math.max(0, least - 1 - Math.floor(Math.log10(size))) : 0;
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return costs.map((cost) => plain(cost, 6));
  const [a, b] = costs;
  const apart = Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) > 1e-9 * size;
  while (apart && decimals < 12 && a.toFixed(decimals) === b.toFixed(decimals)) decimals += 1;
  if (known.every((cost) => Math.abs(cost - Math.round(cost)) < 1e-9)) decimals = 0;
  return costs.map((cost) => (Number.isFinite(cost) ? cost.toFixed(decimals) : plain(cost)));
}

/** A date as one would say it: Saturday 14 June 2025. */
export function day(raw) {
  const date = new Date(`${raw}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return String(raw);
  const part = (options) => date.toLocaleDateString("en-GB", { ...options, timeZone: "UTC" });
  return `${part({ weekday: "long" })} ${date.getUTCDate()} ${part({ month: "long" })} ${date.getUTCFullYear()}`;
}

/** A feature's value with its unit. */
export function value(raw, feature, digits = 6) {
  if (raw === null || raw === undefined) return "–";
  if (feature?.kind === "binary" || typeof raw === "boolean") return Number(raw) ? "on" : "off";
  if (feature?.kind === "date") return day(raw);
  if (typeof raw === "number") return feature?.unit ? `${plain(raw, digits)} ${feature.unit}` : plain(raw, digits);
  return String(raw);
}

/** A cost that is written already, with the unit of costs where there is one. */
export const withUnit = (text, unit) => (unit ? `${text} ${unit}` : text);

/** A share as a percentage. */
export function share(part) {
  const percent = 100 * part;
  return `${plain(percent, Math.abs(percent) < 1 ? 1 : Math.abs(percent) < 99.5 ? 2 : 3)} %`;
}

export function duration(seconds) {
  if (seconds < 120) return `${plain(seconds, seconds < 1 ? 1 : 2)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
}

/** A whole number with thin spaces between thousands. */
export const count = (number) => Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, "\u2009");

/** "a", "a and b", "a, b and c". */
export function listed(items) {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** Round numbers between `low` and `high`, about `wanted` of them. */
export function ticks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((candidate) => candidate >= rough * 0.999);
  const marks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) marks.push(k * step);
  return marks;
}
