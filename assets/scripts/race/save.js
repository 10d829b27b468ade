// The whole run as a file.

import { server } from "./api.js";

/** Whether the server still had it; throws where it does not answer. */
export async function save(log) {
  const text = await server.trace({ run: log.run });
  if (text === null) return false;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = `specdemo-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  return true;
}
