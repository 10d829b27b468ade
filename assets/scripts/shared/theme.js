// The switch between dark and light; without a choice the page follows the system.

const KEY = "specdemo-theme";

/** What the reader chose before; a browser may forbid us to remember. */
function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // then it holds for this page only
  }
}

export function themeButton() {
  const chosen = remembered();
  if (chosen) document.body.classList.toggle("dark", chosen === "dark");
  document.querySelector(".sd-theme")?.addEventListener("click", () => {
    const dark = document.body.classList.toggle("dark");
    remember(dark ? "dark" : "light");
  });
}
