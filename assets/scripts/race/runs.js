// The runs that can be looked at: those that come with the page, those of this visit, and what a file holds.

import { short } from "../shared/format.js";
import { make } from "../shared/make.js";
import { say, tell } from "../shared/words.js";

export class Runs {
  /** `onShow(run)` is called with the id of a run that the reader wants to see, `onFile(file)` with a file. */
  constructor(root, stage, { recordings, onShow, onFile }) {
    this.root = root;
    this.onShow = onShow;
    this.visited = []; // {run, number, head, origin}
    this.list = root.querySelector(".sd-runs-visit");
    this.none = root.querySelector(".sd-runs-none");
    root.querySelector(".sd-runs-recorded").append(
      ...recordings.map((name) => this.item(`recorded-${name}`, (button) => tell(button, `recording_${name}`))),
    );
    this.file = root.querySelector("input[type=file]");
    root.querySelector(".sd-runs-open").addEventListener("click", () => this.file.click());
    this.file.addEventListener("change", () => {
      if (this.file.files.length) onFile(this.file.files[0]);
      this.file.value = ""; // so that the same file can be opened again
      this.close();
    });
    root.addEventListener("keydown", (press) => press.key === "Escape" && root.open && this.close());
    document.addEventListener("click", (click) => !root.contains(click.target) && (root.open = false));
    dropped(stage, onFile);
  }

  close() {
    this.root.open = false;
    this.root.querySelector("summary").focus();
  }

  item(run, name) {
    const item = make("li", "");
    const button = make("button", "sd-run-item");
    button.type = "button";
    button.dataset.run = run;
    button.addEventListener("click", () => {
      this.close();
      this.onShow(run);
    });
    name(button);
    item.append(button);
    return item;
  }

  /** The run `id` is on the page now; `origin` is the number of the one that it has just left, if any. */
  now(id, head, origin) {
    let entry = this.visited.find(({ run }) => run === id);
    if (!entry && !head.recording) {
      entry = { run: id, number: this.visited.length + 1, head, origin };
      this.visited.push(entry);
      this.list.append(this.item(id, (button) => tell(button, () => named(entry))));
      this.none.hidden = true;
    } else if (entry) {
      entry.head = head;
      tell(this.list.querySelector(`[data-run="${CSS.escape(id)}"]`), () => named(entry));
    }
    for (const button of this.root.querySelectorAll(".sd-run-item"))
      button.setAttribute("aria-current", button.dataset.run === id);
  }

  number(id) {
    return this.visited.find(({ run }) => run === id)?.number ?? null;
  }

  /** The server has forgotten it. */
  drop(id) {
    this.list.querySelector(`[data-run="${CSS.escape(id)}"]`)?.parentElement.remove();
  }
}

function named({ number, head, origin }) {
  const { fork, prompt, file } = head;
  if (fork && origin) return say("run_forked", { number, origin, round: fork.round + 1, token: fork.given });
  if (fork) return say("run_forked_file", { number, round: fork.round + 1, token: fork.given });
  return say(file ? "run_opened" : "run_named", { number, file, prompt: short(prompt) });
}

/** Files that are dropped on the stage. */
function dropped(stage, onFile) {
  const holdsFiles = (drag) => drag.dataTransfer?.types.includes("Files");
  stage.addEventListener("dragover", (drag) => {
    if (!holdsFiles(drag)) return;
    drag.preventDefault();
    stage.classList.add("sd-dropping");
  });
  stage.addEventListener("dragleave", (drag) => stage.contains(drag.relatedTarget) || stage.classList.remove("sd-dropping"));
  stage.addEventListener("drop", (drag) => {
    stage.classList.remove("sd-dropping");
    if (!holdsFiles(drag)) return;
    drag.preventDefault();
    onFile(drag.dataTransfer.files[0]);
  });
}
