// What belongs to no tab: the tabs themselves.

import { tabs } from "./shared/tabs.js";

export function mount() {
  tabs(document.querySelector("#sd-tabs [role=tablist]"));
}
