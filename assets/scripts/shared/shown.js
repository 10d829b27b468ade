// A tab that is not open has no size: nothing in it can be measured, scrolled or drawn.

export function isShown(element) {
  return element.offsetWidth > 0;
}

/** Call back each time that `element`, whose tab was closed, comes into sight. */
export function onShown(element, callback) {
  let before = isShown(element);
  new ResizeObserver(() => {
    const now = isShown(element);
    if (now && !before) callback();
    before = now;
  }).observe(element);
}
