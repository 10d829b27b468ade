// Keys and buttons of the race while its tab is open: Ctrl+Enter runs, Esc stops.

import { isShown } from "../shared/shown.js";

/** `root` is the race's own element. */
export function keyboard(root, { onStop }) {
  const button = (id) => document.querySelector(`#${id}`);
  document.addEventListener("keydown", (press) => {
    if (!isShown(root)) return;
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
    if (click.target.closest("#sd-stop")) onStop();
  });
}
