// What belongs to no tab: the tabs themselves, and what a link says of the whole page.

import { hide, linkedTab } from "./shared/link.js";
import { tabs } from "./shared/tabs.js";

export function mount() {
  window.sdStands();
  hide();
  tabs(document.querySelector("#sd-tabs [role=tablist]"));
  const tab = linkedTab();
  if (tab) document.getElementById(`sd-tab-${tab}-button`)?.click();
}
