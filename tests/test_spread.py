"""Targets that one device does not hold: where their parts go, what that takes, and that a run is the same there.

A second device is made up: to accelerate `torch.device("cpu")` is a GPU beside "cpu", its name for the RAM behind one.
What "lies in RAM" then goes away after each part of a pass and comes back for the next, as beside a real GPU.
"""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from accelerate import cpu_offload
from tiny import byte_tokenizer, tiny_config, tiny_model
from transformers import GemmaConfig, GPT2Config, MistralConfig, Qwen3Config

from specdemo import engine
from specdemo.cli import main
from specdemo.drafters import ModelDrafter
from specdemo.models import CATALOGUE, LoadError, PairSpec, estimate, load_pair, planning, read_map
from specdemo.models.cached import CachedModel
from specdemo.models.need import layers_of_a_token, need_of, sketch
from specdemo.models.selfcheck import check_model
from specdemo.models.spread import DISK, RAM, Space, listed, spread_by, spread_over
from specdemo.records import SamplingParams

GPU = torch.device("cpu")
LAYERS = 4
CONFIG = {"layers": LAYERS, "intermediate_size": 96}

SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
KINDS = {
    "llama": tiny_config(3),
    "llama, tied": tiny_config(3, tie_word_embeddings=True),
    "gpt2": GPT2Config(vocab_size=300, n_embd=32, n_layer=3, n_head=4),
    "qwen3": Qwen3Config(vocab_size=300, num_key_value_heads=2, head_dim=16, **SIZES),
    "window": MistralConfig(vocab_size=300, num_key_value_heads=2, sliding_window=8, **SIZES),
    "gemma": GemmaConfig(vocab_size=300, num_key_value_heads=1, head_dim=8, **SIZES),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A target of four layers and a draft of one that share a tokenizer; not to be written to."""
    home = tmp_path_factory.mktemp("models")
    for name, config, seed in (("big", tiny_config(**CONFIG), 1), ("small", tiny_config(1), 2)):
        tiny_model(config, seed).save_pretrained(home / name)
        byte_tokenizer().save_pretrained(home / name)
    return home / "big", home / "small"


def spec(folders) -> PairSpec:
    return PairSpec("mine", "Mine", *map(str, folders))


def load(folders, parts=None, **options):
    text = json.dumps(parts) if isinstance(parts, dict) else parts
    return load_pair(spec(folders), device="cpu", dtype="float32", device_map=text, **options)


def on(shelf, others=None):
    """A map of the target with all on one shelf but the `others`, such as {"layers.1": "cpu"}."""
    parts = dict.fromkeys(["embed_tokens", "norm", "rotary_emb", *(f"layers.{i}" for i in range(LAYERS))], shelf)
    return {f"model.{part}": at for part, at in (parts | (others or {})).items()} | {"lm_head": shelf}


def text_of(pair, k=3):
    target, params = pair.open_target(), SamplingParams(seed=4, max_new_tokens=24)
    drafter = ModelDrafter(pair.open_draft(target))
    return [round_.events for round_ in engine.speculate(target, drafter, [5, 6, 7], params, k=k)]


@pytest.fixture
def machine(monkeypatch):
    """A machine with one GPU beside its RAM, with so many bytes free on each."""

    def with_free(gpu: int, ram: int) -> None:
        monkeypatch.setattr(planning, "gpus_from", lambda device: [GPU])
        monkeypatch.setattr(planning, "shelf_of", lambda device: GPU)
        monkeypatch.setattr(planning, "free_on", lambda shelf: {GPU: gpu, RAM: ram, DISK: None}[shelf])

    return with_free


def whole(config):
    return need_of(config, torch.float32)


# ---------------------------------------------------------------- what a model takes


@pytest.mark.parametrize("kind", KINDS)
def test_a_sketch_weighs_what_the_model_weighs(kind):
    module, config = tiny_model(KINDS[kind]), KINDS[kind]
    run = CachedModel(module)
    run.feed(torch.arange(3, 10))
    held = sum(part[..., :7, :].numel() * 4 for layer in run.layers for part in (layer.keys, layer.values))
    assert 7 * whole(config).token == held > 0
    assert whole(config).weights == 4 * sum(p.numel() for p in module.parameters())
    assert need_of(config, torch.bfloat16).weights == whole(config).weights / 2
    assert len(layers_of_a_token(sketch(config, torch.float32))) == 3


def test_our_own_forward_takes_as_much_a_token(folders):
    assert load(folders).target.token_bytes == whole(tiny_config(**CONFIG)).token


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_a_draft_that_reads_its_target_is_weighed_as_it_runs(dtype):
    pair = load_pair(CATALOGUE["embedded"], device="cpu", dtype=dtype)
    found = estimate(CATALOGUE["embedded"], device="cpu", dtype=dtype, tokens=10)
    assert found.names == "embedded" and found.fits
    (share,) = found.shares
    assert share.weights == pair.target.bytes + pair.draft.bytes
    assert share.cache > 10 * 2 * pair.target.token_bytes


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_what_was_never_loaded_is_weighed_as_it_will_be_held(folders, dtype):
    """Seen: where nothing was known of a checkpoint, 4 bits counted as the 16 of bfloat16."""
    found = estimate(spec(folders), device="cpu", dtype=dtype, tokens=10)
    pair = load_pair(spec(folders), device="cpu", dtype=dtype)
    (share,) = found.shares
    assert share.weights == pair.target.bytes + pair.draft.bytes
    assert share.cache == 10 * (2 * pair.target.token_bytes + pair.draft.token_bytes)
    assert found.dtype == pair.describe()["target_dtype"] == dtype


def test_memory_is_not_told_of_what_cannot_run_in_four_bits(tmp_path):
    tiny_model(KINDS["gpt2"]).save_pretrained(tmp_path)
    byte_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(LoadError, match="cannot run in int4, which needs our own forward: gpt2 is not of the Llama"):
        estimate(spec((tmp_path, tmp_path)), device="cpu", dtype="int4")


# ---------------------------------------------------------------- the same run over parts that lie apart


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_whose_weights_come_and_go_meets_the_contract(kind):
    config, ids = KINDS[kind], torch.arange(3, 24)
    expected = CachedModel(tiny_model(config)).feed(ids)
    module = cpu_offload(tiny_model(config), execution_device=GPU)
    assert {str(p.device) for p in module.parameters()} == {"meta"}
    run = CachedModel(module, GPU, threading.Lock())
    rows = [run.feed(ids[:5])]
    for wrong in (4, 1):
        run.feed(ids[:wrong] + 20)
        run.rewind(5)
    rows += [run.feed(ids[5:6]), run.feed(ids[6:])]
    assert run.length == 21 and run.device == GPU
    torch.testing.assert_close(torch.cat(rows), expected, atol=1e-5, rtol=0)
    check_model(lambda: CachedModel(module, GPU, threading.Lock()), torch.float32, kind)


@pytest.mark.parametrize("parts", [on("cpu", {"layers.1": "disk"}), on("cpu", {"layers.0": "disk", "embed_tokens": "disk"})])
def test_a_pair_whose_target_lies_in_part_on_the_disk_writes_the_same(folders, parts):
    pair, alone = load(folders, parts), load(folders)
    expected, got = text_of(alone), text_of(pair)
    assert [[e.token_id for e in events] for events in got] == [[e.token_id for e in events] for events in expected]
    for one, other in zip([e for events in got for e in events], [e for events in expected for e in events]):
        assert (one.outcome, one.u) == (other.outcome, other.u) and one.p == pytest.approx(other.p, abs=1e-5)
    assert pair.target.shelves == ("cpu", "disk") and pair.describe()["target_device"] == "cpu + disk"
    assert (pair.target.parameters, pair.target.bytes) == (alone.target.parameters, alone.target.bytes)
    notes = " ".join(map(str, pair.notes))
    assert "The target runs on the library's forward, since its parts lie on several devices" in notes
    assert "The target's parts lie on cpu, disk" in notes and "The draft runs on our own forward" in notes


def test_two_runs_at_once_do_not_take_each_other_s_weights(folders):
    pair, ids = load(folders, on("cpu", {"layers.1": "disk", "layers.2": "disk"})), torch.arange(3, 40)
    expected = load(folders).open_target().feed(ids)

    def one(_):
        return pair.open_target().feed(ids)

    with ThreadPoolExecutor(4) as pool:
        for logits in pool.map(one, range(24)):
            torch.testing.assert_close(logits, expected, atol=1e-4, rtol=0)


def test_a_map_to_one_device_is_that_device(folders):
    pair = load(folders, "cpu")
    assert pair.target.shelves == () and "The target runs on our own forward." in map(str, pair.notes)


# ---------------------------------------------------------------- where the parts go


def test_a_target_that_fits_is_not_spread(folders, machine):
    machine(gpu=10**9, ram=10**9)
    found = estimate(spec(folders), device="cpu", dtype="float32", device_map="auto")
    assert found.fits and found.target == GPU and [share.device for share in found.shares] == ["cpu"]


def test_a_target_too_large_for_the_gpu_lies_in_part_in_ram_and_writes_the_same(folders, machine, monkeypatch):
    big, small, tokens = whole(tiny_config(**CONFIG)), whole(tiny_config(1)), 16
    expected = text_of(load(folders))
    monkeypatch.setattr("specdemo.models.loading.CONTEXT", tokens)
    machine(gpu=small.weights + tokens * (small.token + 2 * big.token) + big.weights - 1, ram=10**9)
    told = []
    pair = load(folders, "auto", progress=lambda _, sentence: told.append(str(sentence)))
    assert pair.target.shelves == ("cpu", "cpu") and pair.target.device == GPU  # the first is the GPU that is made up
    assert [[e.token_id for e in events] for events in text_of(pair)] == [
        [e.token_id for e in events] for events in expected
    ]
    shared = next(sentence for sentence in told if "with room for 16 tokens" in sentence)
    assert shared.count(" MB are free") + shared.count(" GB are free") == 2


def test_a_spread_holds_every_weight_once_and_every_layer_s_cache():
    module = sketch(tiny_config(**CONFIG), torch.float32)
    need, tokens = whole(tiny_config(**CONFIG)), 100
    layer = need.token // LAYERS
    spaces = [Space(0, need.weights // 3 + tokens * need.token), Space(1, need.weights // 2), Space(RAM, 10**9)]
    spread = spread_over(spaces, tokens, module)
    assert spread.shelves[:2] == [0, 1] and spread.main == torch.device("cuda:0")
    buffers = sum(b.numel() * b.element_size() for b in module.buffers())
    guests = spread.weights.total() - need.weights - buffers
    assert guests == (0 if RAM not in spread.shelves else pytest.approx(guests))
    assert spread.token.total() == need.token and spread.token[RAM] == 0
    assert spread.token[0] % layer == 0 and spread.token[1] > 0
    for space in spaces[:2]:
        assert spread.weights[space.shelf] + tokens * spread.token[space.shelf] <= space.free


def test_what_lies_in_ram_is_brought_to_the_gpu_one_part_at_a_time_with_its_cache():
    module = sketch(tiny_config(**CONFIG), torch.float32)
    spread = spread_by(on(0, {"layers.1": "cpu", "layers.2": "cpu"}), module, "it")
    one_layer = sum(p.numel() * 4 for p in module.model.layers[1].parameters())
    assert spread.weights[RAM] == 2 * one_layer
    largest = max(p.numel() * 4 for p in module.model.layers[1].parameters())
    held = whole(tiny_config(**CONFIG)).weights - 2 * one_layer + sum(b.numel() * 4 for b in module.buffers())
    assert spread.weights[0] == held + largest
    assert spread.token == {0: whole(tiny_config(**CONFIG)).token}


def test_a_weight_that_two_parts_share_is_there_twice_where_they_lie_apart():
    config = tiny_config(**CONFIG, tie_word_embeddings=True)
    module, embedding = sketch(config, torch.float32), 4 * config.vocab_size * config.hidden_size
    together, apart = (spread_by(on(0) | {"lm_head": head}, module, "it").weights.total() for head in (0, 1))
    assert apart - together == embedding


def test_what_fits_nowhere_is_refused_with_the_numbers(folders, machine):
    machine(gpu=300_000, ram=100_000)
    with pytest.raises(LoadError) as caught:
        load(folders, "auto")
    sentence = str(caught.value)
    assert sentence.startswith("Out of memory: ") and "0.3 MB are free" in sentence and "4,096 tokens" in sentence


def test_a_map_that_asks_too_much_of_a_device_is_refused(folders, monkeypatch):
    monkeypatch.setattr(planning, "free_on", lambda shelf: 1000 if shelf == RAM else None)
    with pytest.raises(LoadError, match="on cpu .*, where 0.0 MB are free, 0.*on disk .*an unknown amount are free"):
        load(folders, on("cpu", {"layers.1": "disk"}))


def test_nothing_is_put_on_the_disk_unasked():
    module = sketch(tiny_config(**CONFIG), torch.float32)
    assert spread_over([Space(0, 200_000), Space(RAM, 10_000)], 1, module) is None


# ---------------------------------------------------------------- maps that cannot be


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nowhere", "The device 'nowhere' is not here"),
        ("{", "The device map '{' cannot be read; it is auto, a device, or a JSON object"),
        ("{}", "The device map '{}' cannot be read"),
        ('{"model": true}', "The device map has True for a device"),
        ('{"model": [0]}', "The device map has [0] for a device"),
        ('{"model": null}', "The device map has None for a device"),
        ('{"model": "tpu-1"}', "The device 'tpu-1' is not here"),
        ('{"model": -1}', "The device 'cuda:-1' is not here"),
        ('{"modle": "cpu"}', "The device map names 'modle'"),
        ('{"model": "cpu"}', "The device map leaves out lm_head.weight of"),
    ],
)
def test_a_map_that_cannot_be_is_refused(folders, text, words):
    with pytest.raises(LoadError) as caught:
        load(folders, text)
    assert str(caught.value).startswith(words) and "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="there is such a GPU here")
def test_a_gpu_that_is_not_here_is_refused():
    with pytest.raises(LoadError, match="The device 'cuda:7' is not here"):
        read_map('{"": 7}')


def test_what_runs_on_our_own_forward_alone_cannot_be_spread(folders):
    with pytest.raises(LoadError, match="cannot run in int4, which needs our own forward: its parts lie"):
        load_pair(spec(folders), device="cpu", dtype="int4", device_map=json.dumps(on("cpu", {"layers.1": "disk"})))
    with pytest.raises(LoadError, match="reads its target's hidden states, and the target runs on the library's"):
        load_pair(CATALOGUE["embedded"], device="cpu", device_map='{"": "disk"}')


def test_several_things_are_listed_in_any_language():
    assert str(listed(["a", "b", "c"])) == "a, b, c" and listed(["a"]) == "a"


# ---------------------------------------------------------------- in a terminal


def memory(folders, *options):
    return main(["memory", "--target", str(folders[0]), "--draft", str(folders[1]), "--device", "cpu", *options])


def test_the_command_tells_what_each_device_would_hold(folders, monkeypatch, capsys):
    big, small = whole(tiny_config(**CONFIG)), whole(tiny_config(1))
    monkeypatch.setattr(planning, "free_on", lambda shelf: 10**9)
    assert memory(folders, "--dtype", "float32", "--context", "1000") == 0
    out, err = capsys.readouterr()
    row = next(line.split() for line in out.splitlines() if line.startswith("cpu"))
    weights, cache = (big.weights + small.weights) / 1e6, 1000 * (2 * big.token + small.token) / 1e6
    assert row == ["cpu", f"{weights:.1f}", "MB", f"{cache:.1f}", "MB", f"{weights + cache:.1f}", "MB", "1.0", "GB"]
    assert out.endswith("It fits on cpu.\n") and "in float32" in out and err == ""


def test_the_command_s_status_says_that_it_does_not_fit(folders, monkeypatch, capsys):
    monkeypatch.setattr(planning, "free_on", lambda shelf: 10)
    assert memory(folders) == 1
    assert capsys.readouterr().out.endswith("It does not fit on cpu.\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--context", "0"], "--context is 0; it must be a whole number, at least 1"),
        (["--device-map", "{"], "The device map '{' cannot be read"),
        (["--device-map", "nowhere"], "The device 'nowhere' is not here"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(folders, capsys, options, words):
    assert memory(folders, *options) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"specdemo: {words}") and err.count("\n") == 1


def test_a_run_in_a_terminal_over_a_map(folders, capsys):
    argv = ["generate", "the end", "--target", str(folders[0]), "--draft", str(folders[1]), "--device", "cpu"]
    argv += ["--dtype", "float32", "--seed", "3", "--max-new-tokens", "12", "--json"]
    texts = []
    for options in ([], ["--device-map", json.dumps(on("cpu", {"layers.1": "disk"}))]):
        assert main([*argv, *options]) == 0
        texts.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert texts[0]["text"] == texts[1]["text"] and texts[1]["pair"]["target_device"] == "cpu + disk"
