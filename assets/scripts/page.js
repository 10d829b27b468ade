// What belongs to no tab: the tabs themselves and the switch of the theme.

import { tabs } from "./shared/tabs.js";
import { themeButton } from "./shared/theme.js";

export function mount() {
  themeButton();
  tabs(document.querySelector("#sd-tabs [role=tablist]"));
}
