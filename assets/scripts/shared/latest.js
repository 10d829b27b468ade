// Questions that come faster than they can be answered: one at a time, and of those that wait only the last.

export class Latest {
  /** `ask(question)` is a promise of an answer; `take(answer)` gets each, in order; `failed` is called if there is none. */
  constructor(ask, take, failed) {
    this.ask = ask;
    this.take = take;
    this.failed = failed;
    this.next = null;
    this.busy = false;
  }

  async put(question) {
    try {
      await this.look(question);
    } catch {
      this.failed();
    }
  }

  /** The same for who is to know that there is no answer: it throws. */
  async look(question) {
    this.next = question;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.next) {
        const asked = this.next;
        this.next = null;
        await this.take(await this.ask(asked));
      }
    } finally {
      this.busy = false;
    }
  }
}
