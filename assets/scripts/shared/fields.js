// What the race's form holds now.

/** How `session/request.py` knows text in a number's field that spells none; what it is, the browser tells nobody. */
const NO_NUMBER = "NaN";

/**
 * Leave what is typed beside a slider as it is, to be refused with its value and the legal range when it is sent: where
 * such a field is left, gradio (6.31, `slider`) puts the nearest legal number in its place, and 0 for none.
 */
export function keepAsTyped() {
  const keep = (blur) => blur.target.matches?.("#sd-controls [data-testid=number-input]") && blur.stopPropagation();
  document.addEventListener("blur", keep, true);
}

/** Whether something is typed in a number's field, which both gradio and the browser give as nothing. */
export const isNoNumber = (field) => Boolean(field?.validity.badInput);

/** What a field of numbers holds, for the server. */
export const counted = (field) => (isNoNumber(field) ? NO_NUMBER : field.valueAsNumber);

/** The form's values by name, with those that are no numbers. */
export function asTyped(fields) {
  const field = (name) => document.querySelector(`#sd-${name.replace("_", "-")} input[type=number]`);
  const typed = ([name, value]) => [name, isNoNumber(field(name)) ? NO_NUMBER : value];
  return Object.fromEntries(Object.entries(fields).map(typed));
}

/** `trigger` has gradio hand over the fields' values, which come as an event of the document. */
export function fieldsBy(trigger) {
  return () =>
    new Promise((resolve) => {
      document.addEventListener("sd-fields", (event) => resolve(asTyped(event.detail)), { once: true });
      trigger();
    });
}
