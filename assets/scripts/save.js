// The whole run as a file.

export async function save(server, log) {
  const text = await server.trace({ run: log.run });
  if (!text) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = `specdemo-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
