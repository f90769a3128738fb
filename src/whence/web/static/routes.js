// What can be driven: the network as neighbours, shortest ways, and why a list of nodes is no route.

import { hops, keyOf } from "./map.js";

/** What is next: the entry with the smallest number, as a binary heap, since maps may have thousands of places. */
class Heap {
  #entries = [];

  push(number, entry) {
    const all = this.#entries;
    let at = all.push([number, entry]) - 1;
    for (let up = (at - 1) >> 1; at && all[up][0] > all[at][0]; at = up, up = (at - 1) >> 1) [all[up], all[at]] = [all[at], all[up]];
  }

  pop() {
    const all = this.#entries;
    const first = all[0];
    const last = all.pop();
    if (all.length) {
      all[0] = last;
      for (let at = 0, down = 1; down < all.length; at = down, down = 2 * at + 1) {
        if (down + 1 < all.length && all[down + 1][0] < all[down][0]) down += 1;
        if (all[at][0] <= all[down][0]) break;
        [all[at], all[down]] = [all[down], all[at]];
      }
    }
    return first;
  }
}

export class Network {
  constructor({ nodes, edges, source, target }) {
    this.nodes = new Map(nodes.map((node) => [keyOf(node.id), node]));
    this.out = new Map(nodes.map((node) => [keyOf(node.id), []]));
    for (const edge of edges) this.out.get(keyOf(edge.from))?.push(edge);
    this.source = source;
    this.target = target;
  }

  label(id) {
    return String(this.nodes.get(keyOf(id))?.label ?? id);
  }

  edge(u, v) {
    return this.out.get(keyOf(u))?.find((edge) => keyOf(edge.to) === keyOf(v));
  }

  /** The street that an edge belongs to: what it is called, the ways along it, and what names all of it to the server. */
  street({ from, to, name }) {
    const places = new Set([...this.nodes.values()].flatMap((node) => [String(node.id), node.label]));
    const pairs = this.within([name || [from, to], name || [to, from]]).pairs;
    if (name) return { name, ways: [{ text: "Along it", items: [name] }], whole: places.has(name) ? pairs : [name] };
    const ways = [[from, to], [to, from]].filter(([u, v]) => this.edge(u, v));
    return { name: `${this.label(from)} – ${this.label(to)}`, whole: ways,
      ways: ways.map((pair) => ({ text: `Along it to ${this.label(pair[1])}`, items: [pair] })) };
  }

  /** The places, and the edges as pairs, that `items` name: places, streets, or edges. */
  within(items) {
    if (!items.length) return { places: [], pairs: [] };
    const keys = new Set(items.map(keyOf));
    const edges = [...this.out.values()].flat().filter((edge) => keys.has(keyOf([edge.from, edge.to])) || (edge.name && keys.has(keyOf(edge.name))));
    return { places: items.filter((item) => this.nodes.has(keyOf(item))), pairs: edges.map((edge) => [edge.from, edge.to]) };
  }

  /** The edges that can come next: they lead on, to a node that the route has not been to. */
  next(route) {
    const been = new Set(route.map(keyOf));
    return (this.out.get(keyOf(route.at(-1))) ?? []).filter((edge) => !been.has(keyOf(edge.to)));
  }

  done(route) {
    return route.length > 1 && keyOf(route.at(-1)) === keyOf(this.target);
  }

  /** The way with the shortest lines on the map from the end of `route` to `goal` around where it has been, or null. */
  way(route, goal) {
    const been = new Set(route.slice(0, -1).map(keyOf));
    const best = new Map([[keyOf(route.at(-1)), { length: 0, before: null, id: route.at(-1) }]]);
    const open = new Heap();
    open.push(0, keyOf(route.at(-1)));
    for (let next = open.pop(); next; next = open.pop()) {
      const [so, here] = next;
      if (here === keyOf(goal)) break;
      if (so > best.get(here).length) continue;
      for (const edge of this.out.get(here) ?? []) {
        const there = keyOf(edge.to);
        const length = so + this.#length(edge);
        if (been.has(there) || length >= (best.get(there)?.length ?? Infinity)) continue;
        best.set(there, { length, before: here, id: edge.to });
        open.push(length, there);
      }
    }
    if (!best.has(keyOf(goal))) return null;
    const found = [];
    for (let key = keyOf(goal); key !== null; key = best.get(key).before) found.unshift(best.get(key).id);
    return found;
  }

  /** Null where `route` is a plan, otherwise the reason why it is not. */
  problem(route) {
    if (!Array.isArray(route) || route.length < 2) return `A route starts at ${this.label(this.source)}: choose the next place.`;
    const unknown = route.find((id) => !this.nodes.has(keyOf(id)));
    if (unknown !== undefined) return `There is no place called ${unknown} in this network.`;
    if (keyOf(route[0]) !== keyOf(this.source)) return `The route must start at ${this.label(this.source)}, not at ${this.label(route[0])}.`;
    const gap = hops(route).find(([u, v]) => !this.edge(u, v));
    if (gap) return `No street leads from ${this.label(gap[0])} to ${this.label(gap[1])}.`;
    if (!this.done(route)) return `The route ends at ${this.label(route.at(-1))}: it must go on to ${this.label(this.target)}.`;
    return null;
  }

  #length(edge) {
    const [a, b] = [this.nodes.get(keyOf(edge.from)), this.nodes.get(keyOf(edge.to))];
    // Hops count a little too, so that of two ways of the same length the one with fewer turns wins.
    return Math.hypot(a.x - b.x, a.y - b.y) + 1e-9;
  }
}
