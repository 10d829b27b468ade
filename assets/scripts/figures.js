// The figures of a token: asked for once, kept a while, drawn by plotly.js, which comes after the page has been painted.

const KEPT = 96;

let library = null;

/** plotly.js; the first call fetches it. */
export function plotly() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("specdemo/plotly", document.baseURI).href;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      library = null;
      reject(new Error("plotly.js did not load"));
    };
    document.head.append(script);
  });
  return library;
}

/** Figures and sentences by question: asked for once, the last ones kept. */
export class Inspections {
  constructor(ask) {
    this.ask = ask;
    this.kept = new Map();
  }

  /** The answer to a question, as a promise. */
  get(question) {
    const key = JSON.stringify(question);
    let answer = this.kept.get(key);
    this.kept.delete(key);
    answer ??= this.ask(question).catch((error) => {
      this.kept.delete(key);
      throw error;
    });
    this.kept.set(key, answer);
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    return answer;
  }
}

// Its rows hold one bar and one number, where those of p and q hold two of each.
const LOW = { residual: 0.8 };

/** A <figure> whose words are HTML, which wraps, and whose drawing has neither title nor legend, which would not. */
export class Figure {
  constructor(element, config) {
    this.element = element;
    this.name = element.dataset.figure;
    this.caption = element.querySelector("figcaption");
    this.box = element.lastElementChild;
    this.config = config;
  }

  async draw(figure) {
    this.element.hidden = !figure;
    if (!figure) return;
    const library = await plotly();
    this.caption.replaceChildren(...this.words(figure));
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", figure.layout.meta.alt);
    const layout = this.fitted(figure);
    this.box.style.height = `${layout.height}px`; // else a window that changes its width lets it collapse
    await library.react(this.box, figure.data, layout, this.config);
  }

  /** The heading, unless the inspector's own stands above it, and what the colours mean. */
  words({ data, layout }) {
    const [first, second] = layout.meta.heading;
    const heading = document.createElement("p");
    if (this.name !== "position") {
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
    const rows = (layout.height - t - b) * (LOW[this.name] ?? 1);
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

/** A trace's entry in the legend: its colour, its stripes, its name. */
function keyOf({ name, marker }) {
  const key = document.createElement("span");
  key.className = "sd-figure-key";
  const swatch = document.createElement("i");
  const { pattern } = marker;
  swatch.style.background = pattern
    ? `repeating-linear-gradient(-45deg, ${pattern.fgcolor} 0 2px, ${pattern.bgcolor} 2px 5px)`
    : marker.color;
  key.append(swatch, name);
  return key;
}
