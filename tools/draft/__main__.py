"""python -m tools.draft STEP: the recipe of the embedded draft, one step after the other. README.md tells the story."""

import argparse
import json
import logging
from pathlib import Path

import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from .corpus import Corpus
from .evaluate import Tally, evaluate
from .llama import Target, load_target
from .prompts import Prompt, held_out_prompts, leaks, read_prompts, training_prompts, write_prompts
from .sample import plan, sample
from .shapes import SHAPES
from .store import load_draft, save_draft
from .student import Draft, new_draft
from .table import Cost, draft_cost, plain_rate, predicted, round_rate, target_cost
from .teach import load_sequences, teach
from .train import Recipe, load_checkpoint, train

TAP_AFTER = (9, 19, 29)  # layers, from 0: a third, two thirds and the whole of the target
POSITIONS = 2048
MOST_K = 8
TABLE_TEMPERATURE = 0.7
log = logging.getLogger("tools.draft")


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    """As the page does it: the chat template with its default system prompt, or the plain text."""
    if not prompt.chat:
        return tokenizer.encode(prompt.text)
    messages = [{"role": "user", "content": prompt.text}]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)


def stop_ids(tokenizer: PreTrainedTokenizerBase) -> set[int]:
    return {tokenizer.eos_token_id, tokenizer.unk_token_id}  # <|im_end|> and <|endoftext|>


def step_prompts(args: argparse.Namespace) -> None:
    prompts = training_prompts(args.count, args.seed)
    if found := leaks(prompts):
        raise ValueError(f"held-out topics in the training prompts: {found[:5]}")
    write_prompts(prompts, args.work / "prompts.jsonl")


def step_sample(args: argparse.Namespace) -> None:
    target, tokenizer = open_target(args)
    prompts = [prompt_ids(tokenizer, prompt) for prompt in read_prompts(args.work / "prompts.jsonl")]
    cohorts = plan(prompts, args.rows, args.max_new, args.seed)[: args.shards]
    sample(target, cohorts, TAP_AFTER, stop_ids(tokenizer), args.work / "shards")


def step_teach(args: argparse.Namespace) -> None:
    target, tokenizer = open_target(args)
    sequences = load_sequences(args.answers)
    texts = [Prompt("", tokenizer.decode(ids[:length])) for ids, length in sequences]
    foreign = {text for _, text in leaks(texts)}
    clean = [row for row, prompt in zip(sequences, texts, strict=True) if prompt.text not in foreign]
    log.info("%d of %d sequences touch no held-out topic", len(clean), len(sequences))
    teach(target, clean, TAP_AFTER, args.work / "shards", args.answers.stem)


def step_train(args: argparse.Namespace) -> None:
    target, _ = open_target(args)
    corpus = Corpus(args.work / "shards")
    log.info("%d sequences, %d answer tokens", len(corpus.sequences), corpus.answer_tokens())
    draft = fresh_draft(args, target, corpus)
    late: dict[str, float] = {}
    if args.start:  # a draft that has been trained before is past the first part of the recipe
        load_checkpoint(draft, args.work / "runs" / args.start)
        late = {"depth_from": 0.0, "overlap_from": 0.0}
    recipe = Recipe(
        tokens=int(args.tokens),
        rate=args.rate,
        depths=args.depths if draft.shape.taps else 1,
        seed=args.seed,
        **late,
    )
    train(draft, corpus, recipe, args.work / "runs" / args.run)


def step_export(args: argparse.Namespace) -> None:
    target, _ = open_target(args)
    draft = fresh_draft(args, target, Corpus(args.work / "shards"))
    load_checkpoint(draft, args.work / "runs" / args.run)
    save_draft(draft, args.draft, TAP_AFTER)


def step_eval(args: argparse.Namespace) -> None:
    """Acceptance by kind of prompt and by depth, to the screen and to `eval.json` in the draft's folder."""
    target, tokenizer = open_target(args)
    draft = load_draft(args.draft, target.embedding)
    prompts = held_out(args.prompts)
    ids = [prompt_ids(tokenizer, prompt) for prompt in prompts]
    parts = {"all": list(range(len(prompts)))}
    if args.kinds:
        for row, prompt in enumerate(prompts):
            parts.setdefault(prompt.kind, []).append(row)
    report = {}
    for temperature in args.temperatures:
        tally = evaluate(target, draft, ids, TAP_AFTER, stop_ids(tokenizer), k=args.k, temperature=temperature,
                         seed=args.seed)  # fmt: skip
        for part, rows in parts.items():
            report[f"T={temperature} {part}"] = row = summary(tally.of(rows))
            print(f"T={temperature} {part}", json.dumps(row))
        (args.draft / "eval.json").write_text(json.dumps({"k": args.k, "rows": report}, indent=1) + "\n")


def summary(tally: Tally) -> dict:
    """What `eval.json` holds of one evaluation; a list has one entry a depth. `acceptance` counts coins, `alpha` is its
    expectation, the mean Σ min(p, q)."""
    return {
        "acceptance": round(tally.acceptance, 4),
        "alpha": round(tally.alpha, 4),
        "alpha_by_depth": [round(alpha, 4) for alpha in tally.by_depth],
        "accepted_by_depth": tally.accepted.sum(0).tolist(),
        "judged_by_depth": tally.judged.sum(0).tolist(),
        "tokens_per_pass": round(tally.tokens_per_round, 4),
    }


def step_table(args: argparse.Namespace) -> None:
    """A Markdown row for each draft folder that `eval` has measured: acceptance, cost, and the speed-up over K as it is
    predicted from them / as true rounds have it, one prompt at a time."""
    target, tokenizer = open_target(args)
    passes = target_cost(target, MOST_K + 1, args.repeats)
    prompts = [prompt_ids(tokenizer, prompt) for prompt in held_out(args.prompts)]
    alone = plain_rate(target, prompts, TABLE_TEMPERATURE, args.tokens, args.seed)
    print("target pass over 1 … tokens, ms:", " ".join(f"{ms:.2f}" for ms in passes), f"; alone {alone:.1f} tokens/s")
    head = " | ".join(f"K={k}" for k in range(1, MOST_K + 1))
    print(f"| draft | MB | α T=0 | α T=0.7 | α T=1 | ms a step | {head} |")
    print("|---" * (6 + MOST_K) + "|")
    for folder in args.drafts:
        draft = load_draft(folder, target.embedding)
        cost = Cost(passes, *draft_cost(draft, 3, args.repeats))
        rates = [
            round_rate(target, draft, prompts, TAP_AFTER, k=k, temperature=TABLE_TEMPERATURE, cap=args.tokens,
                       seed=args.seed)
            for k in range(1, MOST_K + 1)
        ]  # fmt: skip
        print(table_row(folder, cost, [rate / alone for rate in rates]), flush=True)


def table_row(folder: Path, cost: Cost, measured: list[float]) -> str:
    """A row of the table; `measured` are the speed-ups over K = 1 …"""
    rows = json.loads((folder / "eval.json").read_text())["rows"]
    size = (folder / "model.safetensors").stat().st_size / 1e6
    alphas = " | ".join(f"{rows[f'T={t} all']['alpha']:.3f}" for t in (0.0, 0.7, 1.0))
    by_depth = rows[f"T={TABLE_TEMPERATURE} all"]["alpha_by_depth"]
    speeds = " | ".join(f"{predicted(by_depth, cost, k):.2f} / {m:.2f}" for k, m in enumerate(measured, 1))
    return f"| {folder.name} | {size:.1f} | {alphas} | {cost.step:.2f} | {speeds} |"


def held_out(count: int | None) -> list[Prompt]:
    """The held-out prompts; at most `count` of them, evenly spaced."""
    prompts = held_out_prompts()
    return prompts if count is None else prompts[:: -(-len(prompts) // count)]


def open_target(args: argparse.Namespace) -> tuple[Target, PreTrainedTokenizerBase]:
    return load_target(args.target, torch.bfloat16, POSITIONS), AutoTokenizer.from_pretrained(args.target)


def fresh_draft(args: argparse.Namespace, target: Target, corpus: Corpus) -> Draft:
    """An untrained draft of the named shape; its head covers the tokens that answers use most."""
    shape, cache = SHAPES[args.shape], args.work / f"kept-{SHAPES[args.shape].head_size}.pt"
    if not cache.exists():
        mass = corpus.token_mass(target.embedding.shape[0])
        kept = mass.topk(shape.head_size).indices.sort().values
        log.info("the head covers %.2f %% of the answers", 100 * mass[kept].sum() / mass.sum())
        torch.save(kept, cache)
    taps = corpus.some_taps(64, args.seed) if shape.taps else None
    return new_draft(shape, target, torch.load(cache), args.seed, taps)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m tools.draft", description=__doc__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--work", type=Path, required=True, help="folder for prompts, shards and runs")
    common.add_argument("--target", type=Path, required=True, help="the target as safetensors with its tokenizer")
    common.add_argument("--threads", type=int, default=torch.get_num_threads())
    common.add_argument("--seed", type=int, default=0)
    steps = top.add_subparsers(required=True, metavar="STEP")

    def step(name: str, action, text: str) -> argparse.ArgumentParser:
        sub = steps.add_parser(name, parents=[common], help=text, description=text)
        sub.set_defaults(action=action)
        return sub

    sub = step("prompts", step_prompts, "write the training prompts")
    sub.add_argument("--count", type=int, default=12000)
    sub = step("sample", step_sample, "let the target answer them")
    sub.add_argument("--rows", type=int, default=384, help="prompts answered together")
    sub.add_argument("--max-new", type=int, default=192)
    sub.add_argument("--shards", type=int, default=None, help="stop after this many")
    sub = step("teach", step_teach, "make shards of answers that exist as tokens")
    sub.add_argument("--answers", type=Path, required=True, help="an .npz of tokens, prompt_length, total_length")
    sub = step("train", step_train, "distil a draft")
    sub.add_argument("--tokens", type=float, default=4e6, help="slots to read in all")
    sub.add_argument("--rate", type=float, default=5e-3)
    sub.add_argument("--start", help="name of a run to begin from")
    sub.add_argument("--depths", type=int, default=3)
    run_of(sub)
    sub = step("export", step_export, "write a trained draft as a folder")
    sub.add_argument("--draft", type=Path, required=True)
    run_of(sub)
    sub = step("eval", step_eval, "measure acceptance in true rounds on held-out prompts")
    sub.add_argument("--draft", type=Path, required=True)
    sub.add_argument("--k", type=int, default=MOST_K)
    sub.add_argument("--prompts", type=int, default=None, help="at most so many")
    sub.add_argument("--temperatures", type=float, nargs="+", default=[0.0, 0.7, 1.0])
    sub.add_argument("--kinds", action="store_true", help="each kind of prompt by itself, too")
    sub = step("table", step_table, "compare drafts: acceptance, cost, predicted speed-up")
    sub.add_argument("--drafts", type=Path, nargs="+", required=True)
    sub.add_argument("--repeats", type=int, default=40, help="timed calls behind each median")
    sub.add_argument("--prompts", type=int, default=3, help="at most so many for the measured speed-up")
    sub.add_argument("--tokens", type=int, default=64, help="written after each of them")
    return top


def run_of(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--shape", choices=SHAPES, default="eagle")
    sub.add_argument("--run", required=True, help="name of the run")


def main() -> None:
    args = parser().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(args.threads)
    args.action(args)


if __name__ == "__main__":
    main()
