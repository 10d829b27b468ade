// The switch between dark and light; without a choice the page follows the system.

import { recall, remember } from "./memory.js";

export function themeButton(button) {
  const chosen = recall("theme");
  if (chosen) document.body.classList.toggle("dark", chosen === "dark");
  button.addEventListener("click", () => {
    const dark = document.body.classList.toggle("dark");
    remember("theme", dark ? "dark" : "light");
  });
}
