// What the server answers; gradio's own calls swallow a failure and answer `undefined`, ours throw.

const METHODS = ["resync", "halt", "inspect", "trace", "status"];

export function reliable(server) {
  const asking = (name) => async (question) => {
    const answer = await server[name](question);
    if (answer === undefined) throw new Error(`no answer to ${name}`);
    return answer;
  };
  return Object.fromEntries(METHODS.map((name) => [name, asking(name)]));
}
