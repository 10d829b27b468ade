"""Traps of state: what is left behind by a run that was closed, failed, interleaved or seeded must be nothing."""

import random
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from table_models import P, Q, TableModel, historic, script

from specdemo.drafters import ModelDrafter
from specdemo.engine import decode, speculate
from specdemo.records import Round, SamplingParams

PARAMS = SamplingParams(seed=11, max_new_tokens=24)


def start(
    seed: int | None = 11, prompt: tuple[int, ...] = (0, 1, 2), k=3, models: tuple | None = None
) -> Iterator[Round]:
    target, drafter = models or (historic(P), ModelDrafter(historic(Q)))
    return speculate(target, drafter, prompt, SamplingParams(seed=seed, max_new_tokens=24), k=k)


def tale(rounds: Iterator[Round]) -> list:
    """All that a run says but its times."""
    return [(round_.index, round_.k, round_.events) for round_ in rounds]


# ---------------------------------------------------------------- closing and failing


def test_a_run_closed_at_any_point_leaves_nothing_behind() -> None:
    """Closed after each number of rounds, and then the same models for the next run: it equals a fresh one."""
    whole = tale(start())
    assert len(whole) > 5
    models = historic(P), ModelDrafter(historic(Q))
    for n in range(len(whole) + 1):
        rounds = start(prompt=(2, 1, 1), models=models) if n % 2 else start(models=models)
        for _ in range(n):
            next(rounds)
        passes = len(models[0].passes)
        rounds.close()
        assert len(models[0].passes) == passes, "no pass of a model after the close"
        assert tale(start(models=models)) == whole


class Fragile(Exception):
    pass


class Failing(TableModel):
    """Fails at the pass number `at`, before or after the tokens have gone into its cache."""

    def __init__(self, model: TableModel) -> None:
        super().__init__(model.rule, model.vocab_size)
        self.at, self.after = -1, False

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        self.at -= 1
        if self.at == 0 and not self.after:
            raise Fragile
        logits = super().feed(ids)
        if self.at == 0:
            raise Fragile
        return logits


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_fails_at_any_pass_leaves_nothing_behind(who: int, after: bool) -> None:
    whole = tale(start())
    models = Failing(historic(P)), Failing(historic(Q))
    drafter = ModelDrafter(models[1])
    failures = 0
    for prompt in [(0, 1, 2), (0, 1, 1, 3, 2), (2,)]:
        for at in range(1, 200):
            models[who].at, models[who].after = at, after
            try:
                tale(start(prompt=prompt, models=(models[0], drafter)))
                break
            except Fragile:
                failures += 1
            models[who].at = -1
            assert tale(start(models=(models[0], drafter))) == whole
    assert failures > 20


def test_a_failure_ends_the_run_for_good() -> None:
    target = Failing(historic(P))
    target.at = 4
    rounds = start(models=(target, ModelDrafter(historic(Q))))
    with pytest.raises(Fragile):
        tale(rounds)
    with pytest.raises(StopIteration):
        next(rounds)


def test_what_was_never_read_is_not_remembered() -> None:
    """Three runs with one draft: a prompt; another that fails half-way through its long prompt; the first again. The
    draft's cache then holds the beginning of the second prompt, and must know it."""
    draft = Failing(historic(Q))
    drafter = ModelDrafter(draft)
    first, second = [0, 1, *[2] * 1500], [0, 1, *[3] * 1500]
    fresh = tale(start(prompt=first))
    assert tale(start(prompt=first, models=(historic(P), drafter))) == fresh
    draft.at, draft.after = 2, True
    with pytest.raises(Fragile):
        tale(start(prompt=second, models=(historic(P), drafter)))
    assert tale(start(prompt=first, models=(historic(P), drafter))) == fresh


# ---------------------------------------------------------------- chance


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    assert tale(start(seed=1)) == tale(start(seed=1))
    assert len({str(tale(start(seed=seed))) for seed in range(8)}) == 8


def test_no_seed_gives_a_new_run_each_time() -> None:
    """Eight runs of 24 tokens at 1.8 bits each: odds below 1e-12 that two agree."""
    assert len({str(tale(start(seed=None))) for _ in range(8)}) == 8


def test_the_global_random_states_are_neither_read_nor_moved() -> None:
    def states() -> tuple:
        return torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state())

    before, run = states(), tale(start(seed=3))
    tale(start(seed=None))
    tale(decode(historic(P), [0], PARAMS))
    assert states() == before
    torch.manual_seed(123)
    assert tale(start(seed=3)) == run


def test_every_coin_of_a_run_is_its_own() -> None:
    """Over 1,000 coins of one run: all distinct, and no memory from one to the next. Under chance the correlation has a
    standard deviation of 1/√n ≈ .03, so .17 is more than 5 of them: odds below 1e-6."""
    params = SamplingParams(seed=0, max_new_tokens=1500)
    rounds = speculate(historic(P), ModelDrafter(historic(Q)), [0], params, k=3)
    u = torch.tensor([event.u for round_ in rounds for event in round_.events if event.u is not None])
    assert len(u) > 1000 and len(set(u.tolist())) > 0.999 * len(u)
    assert abs(torch.corrcoef(torch.stack([u[:-1], u[1:]]))[0, 1]) < 0.17
    assert abs(u.mean() - 0.5) < 5.5 * (1 / 12 / len(u)) ** 0.5


# ---------------------------------------------------------------- side by side


def test_runs_that_take_turns_do_not_touch_each_other() -> None:
    alone = [tale(start(seed)) for seed in range(4)]
    runs = [start(seed) for seed in range(4)]
    together: list[list] = [[] for _ in runs]
    going = set(range(4))
    turn = random.Random(0)
    while going:
        i = turn.choice(sorted(going))
        round_ = next(runs[i], None)
        if round_ is None:
            going.discard(i)
        else:
            together[i] += tale([round_])
    assert together == alone


def test_runs_in_threads_do_not_touch_each_other() -> None:
    alone = [tale(start(seed)) for seed in range(4)]
    together: dict[int, list] = {}
    threads = [threading.Thread(target=lambda i=i: together.__setitem__(i, tale(start(i)))) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[i] for i in range(4)] == alone


def test_a_run_may_be_carried_on_by_another_thread_at_every_round() -> None:
    """As a page's server does with a generator. The caller's gradient mode is its own business throughout."""
    rounds, found = start(), []

    def step() -> None:
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        found.extend(tale([r] if (r := next(rounds, None)) else []))
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()

    for _ in range(30):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert found == tale(start())


def test_one_model_object_in_both_roles() -> None:
    """Even one cache for both: each rewinds to where it wants to be, so nothing differs but the work."""
    for k in range(1, 6):
        both = historic(P)
        shared = tale(start(k=k, models=(both, ModelDrafter(both))))
        assert shared == tale(start(k=k, models=(historic(P), ModelDrafter(historic(P)))))
        assert not any(event.outcome == "rejected" for _, _, events in shared for event in events)


def adaptive() -> Callable[[Round | None], int]:
    """Longer after full acceptance, shorter after a rejection; a fresh one for each run."""
    k = 2

    def choose(before: Round | None) -> int:
        nonlocal k
        if before is not None:
            k = min(5, k + 1) if before.events[-1].outcome == "bonus" else max(1, k - 1)
        return k

    return choose


def test_an_adaptive_k_starts_anew_with_each_run() -> None:
    models = historic(P), ModelDrafter(historic(Q))
    first = tale(start(k=adaptive(), models=models))
    tale(start(seed=5, prompt=(3,), k=adaptive(), models=models))
    assert tale(start(k=adaptive(), models=models)) == first
    assert len({k for _, k, _ in first}) > 2


def test_a_drafter_must_give_what_was_asked_for() -> None:
    class Eager(ModelDrafter):
        def propose(self, committed, k, params, coins):
            return super().propose(committed, k + 1, params, coins)

    with pytest.raises(AssertionError, match="4 drafts with 4 rows of q, where 3 were asked for"):
        tale(start(models=(historic(P), Eager(historic(Q)))))


def test_a_draft_that_its_q_excludes_is_no_draft() -> None:
    """A q that misses what was drawn would be a silent loss of the law."""

    class Liar(ModelDrafter):
        def propose(self, committed, k, params, coins):
            ids, q = super().propose(committed, k, params, coins)
            return ids, torch.zeros_like(q).index_fill(1, (ids[:1] + 1) % 4, 1.0)

    with pytest.raises(AssertionError, match="not drawn from that q"):
        tale(start(models=(historic(P), Liar(historic(Q)))))


def test_a_run_is_lazy() -> None:
    """Nothing is fed before the first round is asked for, and one round at a time."""
    target, draft = script([0, 1, 2]), script([0, 1, 2])
    rounds = start(prompt=(0,), models=(target, ModelDrafter(draft)))
    assert target.passes == draft.passes == []
    next(rounds)
    assert len(target.passes) == 1
