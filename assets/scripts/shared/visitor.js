// Whose run it is, for a Space on ZeroGPU: the hub's page around ours knows the visitor, and lends a token.

/** Headers to send with what asks for a run. Gradio's own script finds out whether the page around ours has any. */
export async function visitor() {
  if (window.parent === window || !window.supports_zerogpu_headers) return {};
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise((tell) => (port1.onmessage = ({ data }) => tell(data ?? {})));
  window.parent.postMessage("zerogpu-headers", "*", [port2]); // it says nothing that not everybody may read
  const headers = await answer;
  port1.close();
  return headers;
}
