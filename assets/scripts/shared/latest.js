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
    this.next = question;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.next) {
        const asked = this.next;
        this.next = null;
        await this.take(await this.ask(asked));
      }
    } catch {
      this.failed();
    } finally {
      this.busy = false;
    }
  }
}
