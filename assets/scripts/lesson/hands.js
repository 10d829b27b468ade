// What the lesson does on the page: it uses the very tabs, tokens and buttons that a reader has.

const LIMIT_MS = 8000;

/** The first element of the page that matches, once there is one; null after a while. */
async function find(selector) {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    const element = document.querySelector(selector);
    if (element || performance.now() > end) return element;
    await new Promise(requestAnimationFrame);
  }
}

async function press(selector) {
  const element = await find(selector);
  element?.click();
  return element;
}

const open = (tab) => press(`#sd-tab-${tab}-button`);

/** Pick a token of that outcome, of those whose coin decided if there is one. */
export async function pick(lane, outcome) {
  await open("race");
  const pane = `.sd-lane[data-lane="${lane}"] .sd-pane`;
  await find(`${pane} .sd-${outcome}`);
  const all = [...document.querySelectorAll(`${pane} .sd-${outcome}`)];
  const shown = all.filter((token) => token.textContent.trim().length > 1);
  const token = shown[Math.floor(shown.length / 2)] ?? all[0];
  token?.click();
  return token;
}

/** Put one of the lab's distributions onto its table. */
export async function values(preset) {
  await open("lab");
  return press(`.sd-lab-presets [data-say-text="lab_${preset}"]`);
}

export function rule(name) {
  return press(`.sd-lab-rules input[value="${name}"]`);
}
