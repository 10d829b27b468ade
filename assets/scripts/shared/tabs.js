// The row of tabs by keyboard: one stop for Tab, from there the arrows, Home and End. Gradio's own has a stop for each.

export function tabs(bar) {
  const all = () => [...bar.querySelectorAll("[role=tab]")];
  const settle = () => {
    for (const tab of all()) tab.tabIndex = tab.ariaSelected === "true" ? 0 : -1;
  };
  bar.addEventListener("keydown", (press) => {
    const order = all();
    const here = order.indexOf(document.activeElement);
    const last = order.length - 1;
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: last }[press.key];
    if (here < 0 || next === undefined) return;
    press.preventDefault();
    const tab = order[Math.max(0, Math.min(last, next))];
    tab.click();
    tab.focus();
  });
  new MutationObserver(settle).observe(bar, { subtree: true, childList: true, attributeFilter: ["aria-selected"] });
  settle();
}
