// What the race's form holds now.

/** `trigger` has gradio hand over the fields' values, which come as an event of the document. */
export function fieldsBy(trigger) {
  return () =>
    new Promise((resolve) => {
      document.addEventListener("sd-fields", (event) => resolve(event.detail), { once: true });
      trigger();
    });
}
