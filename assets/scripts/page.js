// What belongs to no tab: the tabs themselves, and what a link says of the whole page.

import { keepAsTyped } from "./shared/fields.js";
import { hide, linkedTab } from "./shared/link.js";
import { tabs } from "./shared/tabs.js";

const TABS = ["lab", "proof", "pay"];

export function mount() {
  window.sdStands();
  hide();
  keepAsTyped();
  tabs(document.querySelector("#sd-tabs [role=tablist]"));
  const tab = linkedTab();
  if (tab) document.getElementById(`sd-tab-${tab}-button`)?.click();
  (window.requestIdleCallback ?? setTimeout)(fetchTabs);
}

/** Tabs that are opened later: the server may be gone by then, or know this browser no longer. */
function fetchTabs() {
  for (const name of TABS) import(`./${name}/${name}.js`).catch(() => null); // it is asked for again once it is opened
}
