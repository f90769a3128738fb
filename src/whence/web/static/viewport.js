// What part of a map is seen, and the gestures that change it: wheel, drag, pinch and keys.

/** Farther than this from where it went down, a press is a drag and no click; in pixels. */
const STILL = 5;
const STEP = 1.6;
const STRIDE = 60;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const middle = ([a, b]) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
const apart = ([a, b]) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** A window on a map of its own size: `k` times as large, and never moved so far that it shows nothing. */
export class Viewport {
  constructor() {
    Object.assign(this, { k: 1, x: 0, y: 0, width: 1, height: 1, most: 1 });
  }

  /** Where a point of the whole map is seen. */
  seen([x, y]) {
    return [x * this.k + this.x, y * this.k + this.y];
  }

  /** Whether a point that is seen at (x, y) lies inside, or no farther outside than `margin`. */
  holds([x, y], margin = 0) {
    return x >= -margin && y >= -margin && x <= this.width + margin && y <= this.height + margin;
  }

  /** Another size of the window: what is in its middle stays there. */
  resize(width, height, most) {
    const [across, along] = [(this.width / 2 - this.x) / this.k / this.width, (this.height / 2 - this.y) / this.k / this.height];
    Object.assign(this, { width, height, most, k: Math.min(this.k, most) });
    this.centre([across * width, along * height]);
  }

  /** Make it `factor` times as large around what is seen at `at`. */
  zoom(factor, [x, y] = [this.width / 2, this.height / 2]) {
    const k = clamp(this.k * factor, 1, this.most);
    const by = k / this.k;
    this.k = k;
    this.x = x - (x - this.x) * by;
    this.y = y - (y - this.y) * by;
    this.#keepInside();
  }

  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.#keepInside();
  }

  /** Bring a point of the whole map to the middle, `k` times as large. */
  centre([x, y], k = this.k) {
    this.k = clamp(k, 1, this.most);
    this.x = this.width / 2 - x * this.k;
    this.y = this.height / 2 - y * this.k;
    this.#keepInside();
  }

  #keepInside() {
    this.x = clamp(this.x, this.width * (1 - this.k), 0);
    this.y = clamp(this.y, this.height * (1 - this.k), 0);
  }
}

/** The buttons and keys: larger, smaller, everything. */
export const zoomIn = (view) => view.zoom(STEP);
export const zoomOut = (view) => view.zoom(1 / STEP);
export const zoomAll = (view) => view.zoom(0);

const KEYS = {
  "+": zoomIn, "=": zoomIn, "-": zoomOut, "_": zoomOut, 0: zoomAll,
  ArrowLeft: (view) => view.move(STRIDE, 0), ArrowRight: (view) => view.move(-STRIDE, 0),
  ArrowUp: (view) => view.move(0, STRIDE), ArrowDown: (view) => view.move(0, -STRIDE),
};

function onKeys(node, view, changed) {
  node.addEventListener("keydown", (event) => {
    // Without anything to move, arrows scroll the page as everywhere.
    const arrow = event.key.startsWith("Arrow");
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey || (arrow && view.k === 1)) return;
    event.preventDefault();
    KEYS[event.key](view);
    changed();
  });
}

function onWheel(svg, view, { changed, eager }) {
  svg.addEventListener("wheel", (event) => {
    // The page scrolls under the wheel unless the map is in use: nobody should get stuck in it.
    const larger = event.deltaY < 0;
    if (!(event.ctrlKey || event.metaKey || eager()) || (!larger && view.k === 1)) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    const lines = event.deltaMode === 1 ? 30 : 1;
    view.zoom(Math.exp(-clamp(event.deltaY * lines, -200, 200) / 300), [event.clientX - box.left, event.clientY - box.top]);
    changed();
  }, { passive: false });
}

/**
 * Let `view` follow the hand on `svg`. `changed()` is called after every move, `tapped(point, event)` for a click or tap
 * that was no drag, `hovered(point)` while the mouse is over it (null: it has left); `eager()` says whether the wheel
 * alone zooms.
 */
export function gestures(node, svg, view, calls) {
  const down = new Map();
  let moved = false;
  let before = null;
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    if (!down.size) moved = false;
    down.set(event.pointerId, at(event));
    before = [...down.values()].map((point) => [...point]);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) {
      if (event.pointerType === "mouse") calls.hovered(at(event));
      return;
    }
    down.set(event.pointerId, at(event));
    const now = [...down.values()];
    if (!moved && now.length < 2 && apart([now[0], before[0]]) < STILL) return;
    if (!moved) { moved = true; calls.hovered(null); }
    svg.setPointerCapture(event.pointerId);
    if (now.length === 2) {
      const [was, is] = [middle(before), middle(now)];
      // Larger first: seen as a whole, the map has nowhere to go.
      view.zoom(apart(now) / Math.max(apart(before), 1), was);
      view.move(is[0] - was[0], is[1] - was[1]);
    } else if (now.length === 1) {
      view.move(now[0][0] - before[0][0], now[0][1] - before[0][1]);
    }
    before = now.map((point) => [...point]);
    calls.changed();
  });
  const up = (event) => {
    down.delete(event.pointerId);
    before = [...down.values()].map((point) => [...point]);
  };
  svg.addEventListener("pointerup", up);
  svg.addEventListener("pointercancel", up);
  svg.addEventListener("pointerleave", () => calls.hovered(null));
  svg.addEventListener("click", (event) => { if (!moved || !event.detail) calls.tapped(at(event), event); });
  onWheel(svg, view, calls);
  onKeys(node, view, calls.changed);
}
