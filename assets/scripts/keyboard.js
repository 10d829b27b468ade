// Keys and buttons of the page as a whole: Ctrl+Enter runs, Esc stops.

export function keyboard({ onRun, onStop }) {
  const button = (id) => document.querySelector(`#${id}`);
  document.addEventListener("keydown", (press) => {
    if (press.key === "Enter" && (press.ctrlKey || press.metaKey)) {
      press.preventDefault();
      // A number counts once its field is left.
      if (document.activeElement?.matches("input")) document.activeElement.blur();
      button("sd-run")?.click();
    } else if (press.key === "Escape" && document.body.classList.contains("sd-running")) {
      press.preventDefault();
      button("sd-stop")?.click();
    }
  });
  document.addEventListener("click", (click) => {
    if (click.target.closest("#sd-run")) onRun();
    else if (click.target.closest("#sd-stop")) onStop();
  });
}
