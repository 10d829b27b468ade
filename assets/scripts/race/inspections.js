// What the server said of tokens.

const KEPT = 96;

/** Figures and sentences by question: asked for once, the last ones kept. */
export class Inspections {
  constructor(ask) {
    this.ask = ask;
    this.kept = new Map();
  }

  /** The answer to a question, as a promise. */
  get(question) {
    const key = JSON.stringify(question);
    let answer = this.kept.get(key);
    this.kept.delete(key);
    answer ??= this.ask(question).catch((error) => {
      this.kept.delete(key);
      throw error;
    });
    this.kept.set(key, answer);
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    return answer;
  }
}
