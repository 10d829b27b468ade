"""Two names to a pair: folders, a hub on localhost, and one clear sentence for everything that can go wrong."""

import errno
import json
import pickle
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from fake_hub import fake_hub
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from tiny import byte_tokenizer, piece_tokenizer, tiny_config, tiny_model
from transformers import BertConfig, GPT2Config, MambaConfig, PreTrainedConfig, PreTrainedTokenizerFast, T5Config

from specdemo import engine
from specdemo.drafters import ModelDrafter
from specdemo.models import CATALOGUE, LoadError, PairSpec, checkpoint, load_pair, loading, memory, sources
from specdemo.models.checkpoint import load_checkpoint
from specdemo.models.device import choose_device, choose_dtype
from specdemo.models.failures import as_load_error
from specdemo.models.llama import LlamaRun
from specdemo.records import Outcome, SamplingParams


def save(folder, config, seed=0, tokenizer=None):
    """A model as a person has it on disk."""
    tiny_model(config, seed).save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A target and a smaller draft that share a tokenizer; not to be written to."""
    home = tmp_path_factory.mktemp("models")
    target = save(home / "big", tiny_config(3), 1, byte_tokenizer())
    draft = save(home / "small", tiny_config(1, vocab_size=300), 2, byte_tokenizer())  # padded to another width
    return target, draft


@pytest.fixture
def copies(folders, tmp_path):
    """The same two, to be spoilt."""
    return tuple(shutil.copytree(folder, tmp_path / folder.name) for folder in folders)


def load(target, draft, **options):
    return load_pair(PairSpec("mine", "Mine", str(target), str(draft)), device="cpu", dtype="float32", **options)


def refusal(target, draft, **options) -> str:
    """The sentence that refuses a pair; it is one line."""
    with pytest.raises(LoadError) as caught:
        load(target, draft, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith("."), sentence
    return sentence


def test_two_folders(folders):
    told = []
    pair = load(*folders, progress=lambda fraction, sentence: told.append((fraction, sentence)))
    assert (pair.target.title, pair.draft.title) == ("big", "small")
    assert pair.target.parameters > pair.draft.parameters > 0
    assert pair.target.bytes == 4 * pair.target.parameters
    assert (pair.target.dtype, str(pair.target.device), pair.target.context) == (torch.float32, "cpu", 512)
    assert (pair.open_target().vocab_size, pair.open_draft(pair.open_target()).vocab_size) == (
        len(byte_tokenizer()),
        300,
    )
    assert pair.has_chat and pair.stop_ids == {2}
    assert all(str(sentence).endswith(".") for sentence in pair.notes)
    assert {type(value) for value in pair.describe().values()} <= {str, int, float}
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and fractions[0] >= 0


def test_what_was_loaded_is_what_was_saved(folders):
    pair, module, ids = load(*folders), tiny_model(tiny_config(3), 1), torch.arange(3, 40)
    with torch.inference_mode():
        expected = module(ids[None]).logits[0]
    torch.testing.assert_close(pair.open_target().feed(ids), expected, atol=1e-4, rtol=0)


@pytest.fixture
def own(copies, monkeypatch):
    """Two models in folders that we may write to, as the embedded target is."""
    found = sources._local
    monkeypatch.setattr(sources, "_local", lambda name, folder: replace(found(name, folder), own=folder))
    return copies


@torch.inference_mode()
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_in_our_own_folder_it_is_checked_once_and_is_the_same_again(own, monkeypatch, dtype):
    spec, ids = PairSpec("mine", "Mine", *map(str, own)), torch.arange(3, 40)
    first = load_pair(spec, device="cpu", dtype=dtype)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "load_checkpoint", None)
        patch.setattr(sources.Source, "read_config", None)
        again = load_pair(spec, device="cpu", dtype=dtype)
    for one, other in ((first.target, again.target), (first.draft, again.draft)):
        assert torch.equal(one.open().feed(ids), other.open().feed(ids))
        assert replace(one, open=None, open_fixed=None) == replace(other, open=None, open_fixed=None)
    assert first.encode("Hi the and", chat=True) == again.encode("Hi the and", chat=True)
    assert first.stop_ids == again.stop_ids and first.notes[:3] == again.notes[:3]


def test_what_fails_a_check_is_not_remembered(own, monkeypatch):
    monkeypatch.setattr(checkpoint, "agree", lambda *_: False)
    assert "The target runs on the library's forward" in " ".join(map(str, load(*own).notes))
    assert not [path for folder in own for path in folder.glob("checked-*")]


def test_a_user_s_folder_is_not_written_to(copies):
    before = [sorted(folder.iterdir()) for folder in copies]
    load(*copies)
    assert before == [sorted(folder.iterdir()) for folder in copies]


def test_a_pair_runs(folders):
    pair = load(*folders)
    target, prompt = pair.open_target(), pair.encode("Hi the and", chat=True)
    drafter = ModelDrafter(pair.open_draft(target))
    rounds = list(engine.speculate(target, drafter, prompt, SamplingParams(seed=1, max_new_tokens=20), k=3))
    assert sum(len(round_.emitted) for round_ in rounds) == 20


@pytest.mark.parametrize("failing", ["says something else", "cannot run here"])
def test_where_our_own_forward_fails_the_library_s_runs(folders, monkeypatch, failing):
    def wrong(run, ids):
        if failing == "cannot run here":
            raise RuntimeError("no kernel for this dtype")
        return torch.zeros(len(ids), run.vocab_size)

    monkeypatch.setattr(LlamaRun, "feed", wrong)
    pair, module, ids = load(*folders), tiny_model(tiny_config(3), 1), torch.arange(3, 40)
    with torch.inference_mode():
        expected = module(ids[None]).logits[0]
    torch.testing.assert_close(pair.open_target().feed(ids), expected, atol=1e-4, rtol=0)
    assert any("the library's forward" in str(note) for note in pair.notes)


def test_the_notes_say_which_forward_runs(folders, tmp_path):
    save(tmp_path, GPT2Config(vocab_size=300, n_embd=32, n_layer=1, n_head=4), tokenizer=byte_tokenizer())
    notes = [str(note) for note in load(folders[0], tmp_path).notes]
    assert "The target runs on our own forward." in notes
    assert "The draft runs on the library's forward, since gpt2 is not of the Llama family." in notes


def test_one_model_for_both_parts_is_loaded_once(folders, monkeypatch):
    loaded = []

    def counted(*args):
        loaded.append(args)
        return load_checkpoint(*args)

    monkeypatch.setattr(checkpoint, "load_checkpoint", counted)
    pair = load(folders[0], folders[0])
    assert len(loaded) == 1 and pair.target is pair.draft
    one = pair.open_target()
    other = pair.open_draft(one)
    one.feed(torch.arange(5))
    assert (one.length, other.length) == (5, 0)
    assert any("one model" in str(note) for note in pair.notes)
    rounds = engine.speculate(one, ModelDrafter(other), [5, 6], SamplingParams(temperature=0, max_new_tokens=40), k=4)
    assert not any(event.outcome is Outcome.REJECTED for round_ in rounds for event in round_.events)


def test_a_draft_that_is_no_smaller_is_noted_and_allowed(folders):
    target, draft = folders
    assert any("not smaller" in str(note) for note in load(draft, target).notes)
    assert not any("not smaller" in str(note) for note in load(target, draft).notes)


def test_stop_ids_are_those_of_the_checkpoint_the_tokenizer_and_the_chat(copies):
    target, draft = copies
    for file, end in (("generation_config", [7, 8]), ("config", 9)):
        path = target / f"{file}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": end}))
    path = target / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token": "<|endoftext|>"}))
    assert load(target, draft).stop_ids == {0, 2, 7, 8, 9}


# What is refused


def test_neither_folder_nor_id(folders):
    assert "neither a folder on this machine nor the id" in refusal("./no/such", folders[1])
    assert "neither a folder on this machine nor the id" in refusal(folders[0], "a/b/c")


def test_a_folder_without_a_model(folders, tmp_path):
    assert re.search("holds no model", refusal(tmp_path, folders[1]))


def test_several_gguf_files(folders, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.gguf").touch()
    assert "2 .gguf files" in refusal(tmp_path, folders[1])


def test_a_folder_without_weights(copies):
    target, draft = copies
    (target / "model.safetensors").unlink()
    assert "no weights in safetensors form" in refusal(target, draft)


class Bomb:
    """What writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.write_text, (self.path, "a stranger's program ran"))


@pytest.mark.parametrize("file", ["pytorch_model.bin", "pytorch_model-00001-of-00001.bin", "model.pt"])
def test_pickled_weights_are_not_read(copies, tmp_path, file):
    target, draft = copies
    bomb = pickle.dumps({"model.embed_tokens.weight": Bomb(tmp_path / "ran")})
    (target / file).write_bytes(bomb)
    load(target, draft)  # which looks at the safetensors beside it alone
    (target / "model.safetensors").unlink()
    sentence = refusal(target, draft)
    assert f"keeps its weights in {file}, a pickle" in sentence and "Convert them to safetensors" in sentence
    shutil.copy(target / file, target / "model.safetensors")
    assert "damaged" in refusal(target, draft)
    assert not (tmp_path / "ran").exists()
    pickle.loads(bomb)
    assert (tmp_path / "ran").exists(), "the bomb would have gone off"


@pytest.mark.parametrize("kind", ["llama", "nosuch"])
def test_a_stranger_s_code_is_never_run(copies, tmp_path, monkeypatch, kind):
    """Of a kind that the library knows it is passed over; of any other the model is refused."""
    target, draft = copies
    program = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).write_text('')\nclass It: pass\n"
    (target / "program.py").write_text(program)
    classes = {"AutoConfig": "program.It", "AutoModelForCausalLM": "program.It", "AutoTokenizer": ["program.It", None]}
    for name, change in (("config.json", {"model_type": kind}), ("tokenizer_config.json", {})):
        settings = json.loads((target / name).read_text()) | {"auto_map": classes} | change
        (target / name).write_text(json.dumps(settings))
    monkeypatch.setattr("builtins.input", lambda question="": "y")
    if kind == "llama":
        load(target, draft)
    else:
        assert "never runs a stranger's code" in refusal(target, draft)
    assert not (tmp_path / "ran").exists()


def test_a_missing_weight_is_not_made_up(copies):
    target, draft = copies
    weights = load_file(target / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    assert "lacks 1 of its weights, such as model.layers.1.mlp.up_proj.weight" in refusal(target, draft)


def test_damaged_weights(copies):
    target, draft = copies
    whole = (target / "model.safetensors").read_bytes()
    (target / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert "weights" in refusal(target, draft) and "damaged" in refusal(target, draft)


def test_a_folder_without_a_tokenizer(copies):
    target, draft = copies
    for file in draft.glob("*token*"):
        file.unlink()
    assert "small has no tokenizer that can be read" in refusal(target, draft)


def test_not_a_causal_language_model(folders, tmp_path):
    config = T5Config(vocab_size=97, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    config.save_pretrained(tmp_path)
    byte_tokenizer().save_pretrained(tmp_path)
    assert "encoder-decoder" in refusal(folders[0], tmp_path)


def test_a_model_that_sees_the_future(folders, tmp_path):
    config = BertConfig(
        vocab_size=300, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48
    )
    save(tmp_path, config, tokenizer=byte_tokenizer())
    assert "not a causal language model" in refusal(folders[0], tmp_path)


def test_a_state_that_cannot_be_rolled_back(folders, tmp_path):
    config = MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, state_size=4)
    save(tmp_path, config, tokenizer=byte_tokenizer())
    assert "rolled back" in refusal(folders[0], tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "nosuch"}, "does not know"),
        ({"model_type": None}, "does not know"),
        ({"model_type": "nosuch", "auto_map": {"AutoConfig": "code.Config"}}, "never runs a stranger's code"),
    ],
)
def test_configurations_that_cannot_be_used(copies, change, words, monkeypatch):
    target, draft = copies
    asked = []
    monkeypatch.setattr("builtins.input", asked.append)
    config = json.loads((target / "config.json").read_text()) | change
    config = {name: value for name, value in config.items() if value is not None}
    (target / "config.json").write_text(json.dumps(config))
    assert words in refusal(target, draft)
    assert asked == []


def test_a_configuration_without_a_vocabulary(copies, monkeypatch):
    target, draft = copies
    monkeypatch.setattr(loading.Source, "read_config", lambda source: PreTrainedConfig())
    assert "gives no vocabulary" in refusal(target, draft)


def test_a_configuration_that_is_no_json(copies):
    target, draft = copies
    (target / "config.json").write_text("{broken")
    assert "big could not be loaded" in refusal(target, draft)


def test_tokenizers_that_differ(folders, tmp_path):
    other = save(tmp_path, tiny_config(1), tokenizer=piece_tokenizer())
    sentence = refusal(folders[0], other)
    assert "id 0 is '<|endoftext|>' for the target and '<unk>' for the draft" in sentence


def test_tokenizers_that_differ_late(copies):
    target, draft = copies
    words = json.loads((draft / "tokenizer.json").read_text())
    names = {i: piece for piece, i in words["model"]["vocab"].items()}
    last = max(names)
    words["model"]["vocab"].pop(names[last])
    words["model"]["vocab"]["other"] = last
    words["model"]["merges"].pop()
    (draft / "tokenizer.json").write_text(json.dumps(words))
    assert f"id {last} is {names[last]!r} for the target and 'other' for the draft" in refusal(target, draft)


def test_control_tokens_that_only_one_knows_are_no_disagreement(copies):
    target, draft = copies
    tokenizer = PreTrainedTokenizerFast.from_pretrained(draft)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<think>"]})
    tokenizer.save_pretrained(draft)
    load(target, draft)


def test_no_room(folders, monkeypatch):
    monkeypatch.setattr(memory, "_machine_free", lambda: 200_000)
    sentence = refusal(*folders)
    assert sentence.startswith("Out of memory: ") and "big + " in sentence and "where 0.2 MB are free" in sentence


@pytest.mark.parametrize("words", ["available", "total"])
def test_what_a_machine_tells_about_its_memory(words, tmp_path, monkeypatch):
    table = tmp_path / "meminfo"
    table.write_text("MemTotal: 100 kB\nMemAvailable: 7 kB\n" if words == "available" else "MemTotal: 100 kB\n")
    assert memory._machine_free(table) == (7 * 1024 if words == "available" else memory._machine_total())
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert memory._container_free(tmp_path) == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._container_free(tmp_path) is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"), "Out of memory: m does not fit"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "Out of memory: m does not fit"),
        (MemoryError(), "Out of memory: m does not fit"),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
        (RuntimeError("a line\nand another"), "m could not be loaded: a line."),
    ],
)
def test_sentences(error, words):
    assert words in str(as_load_error(error, "m"))


def test_the_cause_tells_where_the_library_only_complains():
    error = OSError("it did not work")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert "The disk is full" in str(as_load_error(error, "m"))


def test_a_fault_of_our_own_is_not_blamed_on_the_model(folders, monkeypatch):
    def fault(*_):
        raise AssertionError("ours")

    monkeypatch.setattr(checkpoint, "load_checkpoint", fault)
    with pytest.raises(AssertionError, match="ours"):
        load(*folders)


# Device and dtype


def test_devices():
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type in ("cpu", "cuda", "mps")
    for name in ("nosuch", "meta:3" if torch.cuda.is_available() else "cuda"):
        with pytest.raises(LoadError, match="is not here"):
            choose_device(name)


@pytest.mark.parametrize(
    ("able", "expected"),
    [({"avx512_bf16": True}, torch.bfloat16), ({"amx_bf16": True}, torch.bfloat16), ({"avx2": True}, torch.float32)],
)
def test_dtypes_of_a_cpu(able, expected, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    dtype, why = choose_dtype("auto", torch.device("cpu"))
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert choose_dtype("auto", torch.device("cpu"))[0] is torch.float32
    assert dtype is expected and "processor" in str(why)
    assert choose_dtype("float16", torch.device("cpu"))[0] is torch.float16
    with pytest.raises(LoadError, match="'int3' is not known"):
        choose_dtype("int3", torch.device("cpu"))


def test_the_numbers_asked_for_are_the_numbers_used(folders):
    spec = PairSpec("mine", "Mine", *map(str, folders))
    pair = load_pair(spec, device="cpu", dtype="bfloat16")
    assert pair.target.dtype is pair.draft.dtype is torch.bfloat16
    assert pair.target.bytes == 2 * pair.target.parameters
    assert any("bfloat16" in str(note) for note in pair.notes)


def test_four_bits_are_for_our_own_forward_on_a_cpu(folders, tmp_path):
    pair = load_pair(PairSpec("mine", "Mine", *map(str, folders)), device="cpu", dtype="int4")
    assert pair.target.four_bit and pair.target.dtype is torch.bfloat16
    assert pair.describe()["target_dtype"] == pair.describe()["draft_dtype"] == "int4"
    assert pair.target.bytes < 2 * pair.target.parameters
    assert any("4 bits a weight" in str(note) for note in pair.notes)
    gpt2 = save(tmp_path, GPT2Config(vocab_size=300, n_embd=32, n_layer=1, n_head=4), tokenizer=byte_tokenizer())
    with pytest.raises(LoadError, match="cannot run in int4, which needs our own forward: gpt2 is not of the Llama"):
        load_pair(PairSpec("mine", "Mine", str(gpt2), str(gpt2)), device="cpu", dtype="int4")
    with pytest.raises(LoadError, match="'int4' runs on a CPU only, and the device is cuda"):
        choose_dtype("int4", torch.device("cuda"))


# The hub


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with fake_hub(monkeypatch, tmp_path / "cache") as hub:
        yield hub


def test_hub_ids(hub, folders):
    hub.repos = {"acme/big": folders[0], "acme/small": folders[1]}
    told = []
    pair = load("acme/big", "acme/small", progress=lambda *words: told.append(words))
    assert (pair.target.title, pair.target.path) == ("big", "acme/big")
    assert any("Downloading" in str(sentence) for _, sentence in told)
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)
    fetched = len(hub.asked)
    load("acme/big", "acme/small")
    assert len(hub.asked) == fetched, "fetched again"


def test_only_what_is_needed_is_fetched(hub, folders, copies):
    for junk in ("pytorch_model.bin", "consolidated.safetensors", "model.fp16.safetensors", "README.md"):
        (copies[0] / junk).write_bytes(b"0" * 100)
    hub.repos = {"acme/big": copies[0], "acme/small": folders[1]}
    load("acme/big", "acme/small")
    assert not {"pytorch_model.bin", "consolidated.safetensors", "model.fp16.safetensors", "README.md"} & set(hub.asked)
    assert hub.asked.count("model.safetensors") == 2


def test_weights_in_several_files(hub, copies):
    target, draft = copies
    tiny_model(tiny_config(3), 1).save_pretrained(target, max_shard_size="60KB")
    (target / "model.safetensors").unlink(missing_ok=True)
    assert len(list(target.glob("model-*.safetensors"))) > 1
    hub.repos = {"acme/big": target, "acme/small": draft}
    ids = torch.arange(3, 20)
    with torch.inference_mode():
        expected = tiny_model(tiny_config(3), 1)(ids[None]).logits[0]
    torch.testing.assert_close(load("acme/big", "acme/small").open_target().feed(ids), expected, atol=1e-4, rtol=0)


def test_what_does_not_fit_is_not_fetched(hub, folders, monkeypatch):
    monkeypatch.setattr(memory, "_machine_free", lambda: 200_000)
    hub.repos = {"acme/big": folders[0], "acme/small": folders[1]}
    assert "Out of memory" in refusal("acme/big", "acme/small")
    assert "model.safetensors" not in hub.asked


@pytest.mark.parametrize("status", [401, 403])
def test_gated(hub, folders, status):
    hub.refusals["acme/gated"] = (status, "GatedRepo")
    sentence = refusal("acme/gated", folders[1])
    assert "acme/gated is gated" in sentence and "https://huggingface.co/acme/gated" in sentence


def test_files_that_are_gated_though_the_list_of_them_is_not(hub, folders):
    hub.repos["acme/gated"] = folders[0]
    hub.gated.add("acme/gated")
    assert "acme/gated is gated" in refusal("acme/gated", folders[1])


def test_unknown_id(hub, folders):
    assert "The hub has no model acme/nosuch" in refusal(folders[0], "acme/nosuch")


def test_a_hub_that_fails(hub, folders):
    hub.refusals["acme/big"] = (500, "")
    sentence = refusal("acme/big", folders[1])
    assert "hub" in sentence and "acme/big" in sentence


@pytest.mark.parametrize("change", [{"ENDPOINT": "http://127.0.0.1:9"}, {"HF_HUB_OFFLINE": True}])
def test_no_network(hub, folders, monkeypatch, change):
    for name, value in change.items():
        monkeypatch.setattr(constants, name, value)
    assert "The hub cannot be reached and acme/big is not on this machine" in refusal("acme/big", folders[1])


def test_without_network_what_was_fetched_once_still_loads(hub, folders, monkeypatch):
    hub.repos = {"acme/big": folders[0], "acme/small": folders[1]}
    load("acme/big", "acme/small")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    load("acme/big", "acme/small")


def test_half_a_download_without_network(hub, folders, monkeypatch):
    hub.repos = {"acme/big": folders[0], "acme/small": folders[1]}
    with monkeypatch.context() as short:
        short.setattr(memory, "_machine_free", lambda: 200_000)
        refusal("acme/big", "acme/small")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "acme/big was downloaded only in part" in refusal("acme/big", "acme/small")


# The catalogue


def test_the_catalogue_is_data():
    assert next(iter(CATALOGUE)) == "embedded" and len(CATALOGUE) >= 6
    for name, spec in CATALOGUE.items():
        assert (spec.name, bool(spec.title), bool(spec.note)) == (name, True, True)
        assert spec.note.endswith(".")
        assert all(re.fullmatch(r"embedded|[\w.-]+/[\w.-]+", model) for model in (spec.target, spec.draft))
    assert "Gated" in CATALOGUE["llama-3.1-8b"].note
