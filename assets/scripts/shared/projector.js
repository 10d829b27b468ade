// For a lecture hall: all is larger, and only what the last row looks at is left. The address may ask for it.

const CLASS = "sd-projector";

export function projectorButton(button) {
  const show = (on) => {
    document.documentElement.classList.toggle(CLASS, on);
    button.setAttribute("aria-pressed", on);
  };
  show(new URLSearchParams(location.search).get("view") === "projector");
  button.addEventListener("click", () => show(!document.documentElement.classList.contains(CLASS)));
}
