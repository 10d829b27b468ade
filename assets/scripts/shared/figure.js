// A figure that the server computed, drawn by plotly.js.

import { plotly } from "./plotly.js";
import { isShown, onShown } from "./shown.js";

const ENOUGH = 420; // pixels of width, for which a figure is made
const LITTLE = 0.05; // of its size: a scrollbar that comes or goes must not have it drawn anew, and so come again

/** How large the page's letters are, of the usual: more in a lecture hall. */
function letters() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

const LENGTHS = ["height", "t", "r", "b", "l", "size", "standoff", "borderpad", "xshift", "yshift", "ticklen", "thickness"];
const DRAWN = ["line", "error_x", "error_y"]; // what has its width in pixels; that of a bar is of its axis

const SPAN = /(<span style="(?:font-family:[^;]*;)?font-size:)(\d+)px/g; // of ours: a token's own < is escaped

/** A part of a figure with all that is in pixels `by` times as large. */
function scaled(part, by, key, inside) {
  if (Array.isArray(part)) return part.map((one) => scaled(one, by, key, inside));
  if (part !== null && typeof part === "object")
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, scaled(value, by, name, key)]));
  if (typeof part === "string") return part.replace(SPAN, (_, start, size) => `${start}${size * by}px`);
  return typeof part === "number" && (LENGTHS.includes(key) || (key === "width" && DRAWN.includes(inside))) ? part * by : part;
}

/** A <figure> whose words are HTML, which wraps, and whose drawing has neither title nor legend, which would not. */
export class Figure {
  /** `named`: whether the heading's first line is said; `rows`: how high they are, of what the server thought. */
  constructor(element, config, { named = true, rows = 1 } = {}) {
    this.element = element;
    this.caption = element.querySelector("figcaption");
    this.box = element.lastElementChild;
    this.config = config;
    this.named = named;
    this.rows = rows;
    this.waiting = null; // a figure that came while its tab was closed
    onShown(element.parentElement, () => this.waiting && this.draw(this.waiting));
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  async draw(figure) {
    this.element.hidden = !figure;
    this.waiting = null;
    if (!figure) return;
    const library = await plotly();
    if (!isShown(this.element)) {
      this.waiting = figure;
      return;
    }
    this.caption.replaceChildren(...this.words(figure));
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", figure.layout.meta.alt);
    this.scale = this.room();
    const layout = scaled(this.fitted(figure), this.scale);
    this.box.style.height = `${layout.height}px`; // else a window that changes its width lets it collapse
    this.drawn = figure;
    await library.react(this.box, scaled(figure.data, this.scale), layout, this.config);
    await this.fit();
  }

  /** Plotly looks at the window alone, and keeps the width that a figure had: here the room for it has changed. */
  async fit() {
    const drawn = this.box.querySelector(".main-svg");
    if (!drawn || !isShown(this.box)) return;
    if (Math.abs(this.scale - this.room()) > LITTLE) {
      await this.draw(this.drawn);
      return;
    }
    if (Math.abs(drawn.getBoundingClientRect().width - this.box.clientWidth) > 1) (await plotly()).Plots.resize(this.box);
  }

  /** How large a figure is here, of what the server thought: as the letters around it, where its width allows that. */
  room() {
    return Math.max(1, Math.min(letters(), this.box.clientWidth / ENOUGH));
  }

  /** The heading and what the colours mean. */
  words({ data, layout }) {
    const [first, second] = layout.meta.heading;
    const heading = document.createElement("p");
    if (this.named) {
      const strong = document.createElement("strong");
      strong.textContent = first;
      heading.append(strong, " ");
    }
    heading.append(second ?? "");
    const keys = data.filter((trace) => trace.showlegend && trace.name).map(keyOf);
    return [heading, ...keys];
  }

  /** The layout without its title and legend and the room for them. */
  fitted({ data, layout }) {
    const title = layout.title.text.includes("<br>") ? 68 : 44;
    const legend = layout.legend ? layout.legend.y * layout.height : 0;
    const { t, b, ...sides } = layout.margin;
    const rows = (layout.height - t - b) * this.rows;
    return {
      ...layout,
      title: undefined,
      showlegend: false,
      height: rows + t - title + b - legend,
      margin: { ...sides, t: t - title, b: b - legend },
      font: { ...layout.font, family: getComputedStyle(document.documentElement).getPropertyValue("--sd-sans") },
    };
  }
}

/** A trace's entry in the legend: how it is drawn, and its name. */
function keyOf(trace) {
  const key = document.createElement("span");
  key.className = "sd-figure-key";
  key.append(trace.type === "scatter" ? strokeOf(trace) : swatchOf(trace), trace.name);
  return key;
}

/** Of a bar: its colour, its stripes. */
function swatchOf({ marker }) {
  const swatch = document.createElement("i");
  const { pattern } = marker;
  swatch.style.background = pattern
    ? `repeating-linear-gradient(-45deg, ${pattern.fgcolor} 0 2px, ${pattern.bgcolor} 2px 5px)`
    : marker.color;
  if (marker.line?.color) swatch.style.border = `2px solid ${marker.line.color}`;
  return swatch;
}

const SYMBOLS = { circle: "●", diamond: "◆", "diamond-open": "◇", "line-ns": "┃" };
const DASHES = { solid: "solid", dash: "dashed", dot: "dotted" };

/** Of a line or of points: its dashes, their shape. */
function strokeOf({ mode, marker, line }) {
  const stroke = document.createElement("b");
  stroke.style.color = marker.color;
  if (mode === "lines") stroke.style.borderTop = `3px ${DASHES[line.dash]} ${line.color}`;
  else stroke.textContent = SYMBOLS[marker.symbol];
  stroke.classList.toggle("sd-figure-line", mode === "lines");
  return stroke;
}
