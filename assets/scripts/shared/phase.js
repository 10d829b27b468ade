// What is said of a phase that the server told.

import { loginWanted } from "./login.js";
import { say } from "./words.js";

/** The sentence as [key, values]. */
export function sentence(phase) {
  if (phase.name === "waiting" && Number.isFinite(phase.seconds))
    return ["phase_waiting_about", { ...phase, wait: () => about(phase.seconds) }];
  if (phase.name === "done" && phase.most) return [phase.asked ? "phase_cut" : "phase_measured_cut", phase];
  if (phase.name === "recorded" && phase.file) return ["phase_opened", phase];
  return phase.name === "lost" ? [lost, phase] : [`phase_${phase.name}`, phase];
}

/** What is said where no answer comes: it changes once a server that is back asks for the login. */
export function lost() {
  return say(loginWanted() ? "phase_login" : "phase_lost");
}

/** No more exactly than it can be known. */
function about(seconds) {
  if (seconds < 90) return say("about_seconds", { n: Math.max(5, 5 * Math.round(seconds / 5)) });
  return say("about_minutes", { n: Math.round(seconds / 60) });
}
