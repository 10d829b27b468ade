// The figures of a token: asked for once, kept a while, drawn by plotly.js, which comes after the page has been painted.

const KEPT = 96;

let library = null;

/** plotly.js; the first call fetches it. */
export function plotly() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("specdemo/plotly.min.js", document.baseURI).href;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("plotly.js did not load"));
    document.head.append(script);
  });
  return library;
}

export class Inspections {
  constructor(ask) {
    this.ask = ask;
    this.kept = new Map();
  }

  /** Figures and sentences of a token, as a promise. */
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

/** Draw a figure into a box, or empty the box; the box keeps its height. */
export async function draw(box, figure, config) {
  const library = await plotly();
  if (!figure) {
    if (box.classList.contains("js-plotly-plot")) library.purge(box);
    box.replaceChildren();
    box.hidden = true;
    return;
  }
  box.hidden = false;
  await library.react(box, figure.data, figure.layout, config);
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", figure.layout.meta?.alt ?? "");
}
