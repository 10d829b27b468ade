// plotly.js, which comes after the page has been painted.

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
