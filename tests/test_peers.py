"""Other engines on the same weights: the same greedy text as ours, counted as they came, and nothing left behind."""

import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch
from tiny import byte_tokenizer, tiny_config, tiny_model
from transformers import GenerationConfig

from specdemo.lanes import plain
from specdemo.models import PairSpec, load_pair
from specdemo.models.reference import gguf_of, load_module, streamed_bytes
from specdemo.peers import library, llama_cpp
from specdemo.peers.reader import Candidates
from specdemo.records import SamplingParams
from tools.draft.store import save_draft
from tools.draft.student import Draft, Shape

WIDTH, TAPS = 32, (0, 1, 2)
GREEDY = SamplingParams(temperature=0, max_new_tokens=40)


def saved(folder, config, seed):
    tiny_model(config, seed).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A target, a smaller draft of the library's kind, one padded to another width, and one that reads the target."""
    home = tmp_path_factory.mktemp("peers")
    saved(home / "target", tiny_config(3), 1)
    saved(home / "draft", tiny_config(1), 2)
    saved(home / "padded", tiny_config(1, vocab_size=300), 2)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        shape = Shape(layers=1, hidden=WIDTH, heads=4, kv_heads=2, intermediate=48, head_size=60, taps=len(TAPS))
        kept = torch.randperm(len(byte_tokenizer()))[:60].sort().values
        embedding = tiny_model(tiny_config(3), 1).get_input_embeddings().weight.detach()
        draft = Draft(shape, embedding, kept, eps=1e-6, theta=1e4).requires_grad_(False)
        for tensor in (*draft.parameters(), draft.tap_mean, draft.tap_scale):
            tensor.copy_(torch.randn(tensor.shape) * 0.3 + (tensor.dim() == 1))
        save_draft(draft, home / "reader", TAPS)
    return home


def pair_of(home, draft):
    spec = PairSpec("own", "own", str(home / "target"), str(home / draft))
    return load_pair(spec, device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def pairs(home):
    return {draft: pair_of(home, draft) for draft in ("draft", "padded", "reader")}


@pytest.fixture(scope="module")
def modules(home):
    device = torch.device("cpu")
    return {
        name: load_module(str(home / name), name, torch.float32, device, lambda *_: None)
        for name in ("target", "draft", "padded")
    }


def engines(pairs, modules):
    target = modules["target"]
    return {
        "generate": library.generate(target),
        "look_up": library.look_up(target, 10),
        "schedule": library.assist(target, modules["draft"], byte_tokenizer()),
        "k": library.assist(target, modules["draft"], byte_tokenizer(), 3),
        "reader": library.assist_by_reader(target, pairs["reader"], 3),
    }


NAMES = ["generate", "look_up", "schedule", "k", "reader"]


def written(write, prompt, params, stop_ids=frozenset()):
    """The bursts that an engine told, after its own count has been held against them."""
    bursts = []
    assert write(prompt, params, stop_ids, bursts.append) == sum(map(len, bursts))
    assert all(bursts), "an empty burst"
    return bursts


def flat(bursts):
    return [i for burst in bursts for i in burst]


def ours(pair, prompt, params):
    return [event.token_id for round_ in plain(pair, prompt, params) for event in round_.emitted]


@pytest.mark.parametrize("name", NAMES)
def test_greedy_text_is_ours_id_for_id(pairs, modules, name):
    pair = pairs["draft"]
    for prompt in ("the end", "a the and the and the"):
        ids = pair.encode(prompt, True)
        bursts = written(engines(pairs, modules)[name], ids, GREEDY, pair.stop_ids)
        assert flat(bursts) == ours(pair, ids, GREEDY)


def test_assisted_generation_really_drafts(pairs, modules):
    """A target that drafts for itself has all drafts kept: K + 1 tokens a pass, but the first and the last."""
    pair, target = pairs["draft"], modules["target"]
    bursts = written(library.assist(target, target, byte_tokenizer(), 3), pair.encode("the", True), GREEDY)
    assert [len(burst) for burst in bursts] == [4] * 10


def test_our_draft_reads_the_library_s_target_as_it_reads_ours(pairs, modules, monkeypatch):
    """q of the first draft of every round, against a draft that has read the same text from the start beside ours."""
    pair, seen = pairs["reader"], []
    propose = Candidates.get_candidates

    def spy(self, input_ids, **how):
        found = propose(self, input_ids, **how)
        seen.append((input_ids[0].tolist(), *found))
        return found

    monkeypatch.setattr(Candidates, "get_candidates", spy)
    params = SamplingParams(temperature=2.0, seed=4, max_new_tokens=60)
    prompt = pair.encode("the end and the", True)
    bursts = written(library.assist_by_reader(modules["target"], pair, 3), prompt, params)
    first, *rounds = seen
    assert first[0] == prompt and first[2] is None, "before the prompt has been read there is nothing to draft from"
    for committed, candidates, log_q in (each for each in rounds if each[2] is not None):
        base = pair.open_target()
        base.feed(torch.tensor(committed[:-1]))
        q = pair.open_draft(base).feed(torch.tensor(committed))[-1].div(2.0).softmax(-1)
        torch.testing.assert_close(log_q[0, 0].exp(), q, atol=1e-5, rtol=1e-3)
        assert candidates[0, : len(committed)].tolist() == committed
        assert candidates.shape[1] - len(committed) == log_q.shape[1] == min(3, len(prompt) + 60 - len(committed) - 1)
    assert sum(len(burst) > 1 for burst in bursts) >= 5, "else nothing was taken back in part"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [1, 2, 7])
def test_as_many_tokens_as_were_asked_for(pairs, modules, name, length):
    params = SamplingParams(temperature=0.9, top_k=40, top_p=0.9, min_p=0.01, seed=5, max_new_tokens=length)
    ids = pairs["draft"].encode("the end", True)
    assert len(flat(written(engines(pairs, modules)[name], ids, params))) == length


@pytest.mark.parametrize("name", NAMES)
def test_a_stop_token_ends_it(pairs, modules, name):
    pair = pairs["draft"]
    ids = pair.encode("the end", True)
    text = ours(pair, ids, GREEDY)
    stop = text[5]
    bursts = written(engines(pairs, modules)[name], ids, GREEDY, frozenset({stop, 2}))
    assert flat(bursts) == text[: text.index(stop) + 1]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_a_run_and_the_global_one_is_left_alone(pairs, modules, name):
    ids = pairs["draft"].encode("the end", True)
    before = torch.get_rng_state()
    write = engines(pairs, modules)[name]
    texts = [
        flat(written(write, ids, SamplingParams(temperature=1.5, seed=seed, max_new_tokens=12))) for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert torch.equal(torch.get_rng_state(), before)


def test_a_draft_padded_to_another_width_helps_too(pairs, modules):
    pair = pairs["padded"]
    ids = pair.encode("the end", True)
    bursts = written(library.assist(modules["target"], modules["padded"], byte_tokenizer()), ids, GREEDY, pair.stop_ids)
    assert flat(bursts) == ours(pair, ids, GREEDY)


def test_what_a_checkpoint_wants_of_generation_plays_no_part(pairs, modules):
    pair, target = pairs["draft"], modules["target"]
    target.generation_config = GenerationConfig(repetition_penalty=5.0, min_new_tokens=30, temperature=0.1)
    ids = pair.encode("the the the", True)
    assert flat(written(library.generate(target), ids, GREEDY, pair.stop_ids)) == ours(pair, ids, GREEDY)


def test_nothing_is_left_on_the_module(pairs, modules):
    target = modules["target"]
    before = dict(vars(target))

    def broken(_):
        raise KeyboardInterrupt

    for write in engines(pairs, modules).values():
        with pytest.raises(KeyboardInterrupt):
            write([3, 4, 5], GREEDY, frozenset(), broken)
    assert vars(target).keys() == before.keys()
    assert not any(layer._forward_hooks for layer in target.get_decoder().layers)


def test_bytes_that_a_pass_reads(home, pairs, modules):
    """An embedding of its own is not read through, one that is the head too is."""
    target = modules["target"]
    table = target.get_input_embeddings().weight
    assert (
        streamed_bytes(target) == 4 * (target.num_parameters() - table.numel()) == pairs["draft"].target.streamed_bytes
    )
    tied = tiny_model(tiny_config(1, tie_word_embeddings=True))
    assert streamed_bytes(tied) == 4 * tied.num_parameters()


def test_which_target_has_a_gguf_file(home, tmp_path):
    assert gguf_of(str(home / "target"), lambda *_: None) is None
    file = tmp_path / "small.Q4_1.gguf"
    file.write_bytes(b"GGUF")
    assert gguf_of(str(file), lambda *_: None) == file


# ---------------------------------------------------------------- llama.cpp


class FakeLlama:
    """The part of llama_cpp.Llama that is used: it writes 7, 8, 9, … and keeps its count as that does."""

    made: ClassVar[list["FakeLlama"]] = []

    def __init__(self, path, **settings):
        self.path, self.settings, self.model, self.n_tokens = path, settings, "model", 0
        self.asked, self.seeds, self.closed = [], [], False
        FakeLlama.made.append(self)

    def reset(self):
        self.n_tokens = 0

    def set_seed(self, seed):
        self.seeds.append(seed)

    def generate(self, tokens, **how):
        self.asked.append(how)
        assert self.n_tokens == 0, "the cache of the run before"
        self.n_tokens = len(tokens)
        for i in range(100):
            yield 7 + i
            self.n_tokens += 1

    def close(self):
        self.closed = True


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", SimpleNamespace(Llama=FakeLlama, llama_model_size=lambda model: 96))
    FakeLlama.made.clear()


def test_llama_cpp_is_asked_for_the_same_and_counted(fake, tmp_path):
    engine = llama_cpp.LlamaCpp(tmp_path / "m.gguf", threads=3, context=70)
    params = SamplingParams(temperature=0.7, top_k=5, top_p=0.9, min_p=0.02, seed=11, max_new_tokens=6)
    for _ in range(2):
        assert flat(written(engine, [1, 2, 3], params)) == [7, 8, 9, 10, 11, 12]
    assert flat(written(engine, [1, 2, 3], params, frozenset({9}))) == [7, 8, 9]
    (llama,) = FakeLlama.made
    how = {"temp": 0.7, "top_k": 5, "top_p": 0.9, "min_p": 0.02, "repeat_penalty": 1.0}
    assert llama.asked == [how] * 3 and llama.seeds == [11] * 3
    assert (llama.settings["n_threads"], llama.settings["n_threads_batch"], llama.settings["n_ctx"]) == (3, 3, 70)
    assert engine.bytes == 96
    engine.close()
    assert llama.closed


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("", None),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "its process was ended by signal 11, so this build",
        ),
        ("raise ValueError('no such file.')", "ValueError: no such file"),
        ("import time; time.sleep(30)", "no token in 0.5 s"),
    ],
)
def test_a_build_that_does_not_fit_is_found_out_in_a_process_of_its_own(monkeypatch, tmp_path, program, words):
    monkeypatch.setattr(llama_cpp, "_TRIAL", program)
    if words and "no token" in words:
        monkeypatch.setattr(llama_cpp, "_TRIAL_S", 0.5)
    reason = llama_cpp.why_not(tmp_path / "m.gguf", 1)
    assert reason is None if words is None else reason.startswith(words)
