// The switch between dark and light; without a choice the page follows the system.

export function themeButton() {
  document.querySelector(".sd-theme")?.addEventListener("click", () => {
    document.body.classList.toggle("dark");
  });
}
