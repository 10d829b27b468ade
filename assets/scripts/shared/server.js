// What the server answers; gradio's own calls swallow a failure and answer `undefined`, ours throw.

/** The server's `methods`, each of which takes one question. */
export function reliable(server, methods) {
  const asking = (name) => async (question) => {
    const answer = await server[name](question);
    if (answer === undefined) throw new Error(`no answer to ${name}`);
    return answer;
  };
  return Object.fromEntries(methods.map((name) => [name, asking(name)]));
}
