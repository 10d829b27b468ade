"""The draft that reads the target's taps: against the model that is trained, slot by slot, and in the engine."""

import pytest
import torch
from tiny import byte_tokenizer
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from specdemo.contract import Coins
from specdemo.drafters import ModelDrafter
from specdemo.engine import speculate
from specdemo.models import LoadError, PairSpec, load_pair
from specdemo.models import eagle as eagle_module
from specdemo.models.device import multiplies_four_bits
from specdemo.models.eagle import load_eagle
from specdemo.models.linear import GROUP, four_bits
from specdemo.models.llama import Llama
from specdemo.records import SamplingParams
from tools.draft.store import save_draft
from tools.draft.student import Draft, Shape

TAPS = (0, 1, 2)
VOCAB, WIDTH = 97, 48
CONFIG = LlamaConfig(
    vocab_size=VOCAB,
    hidden_size=WIDTH,
    intermediate_size=80,
    num_hidden_layers=3,
    num_attention_heads=6,
    num_key_value_heads=2,
    max_position_embeddings=256,
    initializer_range=0.3,
)
IDS = torch.randint(VOCAB, (20,), generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module")
def target():
    torch.manual_seed(0)
    return Llama(LlamaForCausalLM(CONFIG).eval())


@pytest.fixture(scope="module")
def trained(target):
    """A random draft as the recipe trains it, in float32."""
    torch.manual_seed(1)
    shape = Shape(layers=1, hidden=WIDTH, heads=6, kv_heads=2, intermediate=80, head_size=40, taps=len(TAPS))
    kept = torch.randperm(VOCAB)[:40].sort().values
    draft = Draft(shape, target.embedding, kept, eps=target.eps, theta=1e4).requires_grad_(False)
    for tensor in (*draft.parameters(), draft.tap_mean, draft.tap_scale):
        tensor.copy_(torch.randn(tensor.shape) * 0.3 + (tensor.dim() == 1))
        tensor.copy_(tensor.bfloat16().float())  # as it will be stored
    return draft


@pytest.fixture(scope="module")
def eagle(target, trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("draft")
    save_draft(trained, folder, TAPS)
    return load_eagle(folder, target)


def beside(eagle, target, read):
    """A run of the target that has read `read` tokens, and the draft's run beside it."""
    run = target.open(eagle.tap_after)
    if read:
        run.feed(IDS[:read])
    return run, eagle.open(run)


@torch.inference_mode()
def reference(target, trained, depths):
    """The trained model's logits over its head, (depth, slot, head)."""
    run = target.open(TAPS)
    run.feed(IDS)
    taps = run.taps(0, len(IDS)).transpose(0, 1)[None]
    return [trained.logits(stream)[0] for stream in trained(IDS[None], taps, depths)]


def test_taps_are_the_target_s_streams(target):
    torch.manual_seed(0)
    module = LlamaForCausalLM(CONFIG).eval()
    with torch.inference_mode():
        states = module.model(IDS[None], output_hidden_states=True).hidden_states
    run = target.open((0, 1))
    for part in IDS.split(7):
        run.feed(part)
    run.rewind(15)
    run.feed(IDS[15:])
    torch.testing.assert_close(run.taps(0, 20)[0], states[1][0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(run.taps(3, 17)[1], states[2][0, 3:17], atol=1e-4, rtol=1e-4)


def test_committed_slots_are_what_was_trained(target, trained, eagle):
    (expected,) = reference(target, trained, 1)
    _, run = beside(eagle, target, 20)
    logits = torch.cat([run.feed(part) for part in IDS.split([1, 1, 5, 13])])
    torch.testing.assert_close(logits[:, eagle.kept], expected, atol=1e-4, rtol=1e-4)
    others = torch.ones(VOCAB, dtype=torch.bool).index_fill(0, eagle.kept, False)
    assert (logits[:, others] == -torch.inf).all()
    assert run.length == 20


def test_drafted_slots_are_the_deeper_ones(target, trained, eagle):
    first, second, third = reference(target, trained, 3)
    _, run = beside(eagle, target, 10)
    rows = [run.feed(IDS[:11])[-1], run.feed(IDS[11:12])[0], run.feed(IDS[12:13])[0]]
    assert run.length == 13
    for row, expected in zip(rows, (first[10], second[11], third[12])):
        torch.testing.assert_close(row[eagle.kept], expected, atol=1e-4, rtol=1e-4)


def test_what_the_target_knows_now_is_read_again(target, trained, eagle):
    (expected,) = reference(target, trained, 1)
    base, run = beside(eagle, target, 10)
    run.prefill(IDS[:11])
    run.feed(IDS[11:14])
    base.feed(IDS[10:13])
    assert run.length == 11
    torch.testing.assert_close(run.feed(IDS[11:14])[:, eagle.kept], expected[11:14], atol=1e-4, rtol=1e-4)
    run.rewind(5)
    torch.testing.assert_close(run.feed(IDS[5:9])[:, eagle.kept], expected[5:9], atol=1e-4, rtol=1e-4)


def test_alone_it_reads_its_own_streams(target, eagle):
    """With a target that has read nothing it is a language model of its own, in blocks as token by token."""
    one, other = (beside(eagle, target, 0)[1] for _ in range(2))
    rows = torch.cat([other.feed(part) for part in IDS.split(1)])
    torch.testing.assert_close(one.feed(IDS), rows, atol=1e-4, rtol=1e-4)
    one.rewind(8)
    torch.testing.assert_close(one.feed(IDS[8:]), rows[8:], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_each_q_of_a_run_is_what_a_fresh_draft_says(target, eagle, k):
    """q of the first draft of every round, against a draft that has read the same text from the start."""
    base = target.open(eagle.tap_after)
    drafter = ModelDrafter(eagle.open(base))
    text = IDS[:6].tolist()
    kept = 0
    for round_ in speculate(
        base, drafter, text, SamplingParams(seed=5, max_new_tokens=60, temperature=2.0), k=k, top=97
    ):
        if round_.k:
            again = target.open(eagle.tap_after)
            again.feed(torch.tensor(text[:-1]))
            q = eagle.open(again).feed(torch.tensor(text))[-1].div(2.0).softmax(-1)
            assert round_.events[0].q == pytest.approx(q[round_.events[0].token_id].item(), rel=1e-3)
        kept += sum(event.outcome == "accepted" for event in round_.events)
        text += [event.token_id for event in round_.emitted]
    assert kept >= 5  # else nothing was read again


class Wide:
    """The same model without its short cut."""

    def __init__(self, model):
        self._model = model
        self.feed, self.rewind, self.vocab_size = model.feed, model.rewind, model.vocab_size
        self.device, self.context = model.device, model.context

    @property
    def length(self):
        return self._model.length


@pytest.mark.parametrize(
    "law",
    [
        {"temperature": 1.5},
        {"temperature": 0.0},
        {"top_k": 7},
        {"top_k": 60},  # more than it can propose
        {"top_p": 0.7, "temperature": 2.0},
        {"min_p": 0.2},
    ],
    ids=str,
)
def test_rows_over_the_support_are_the_rows_over_the_vocabulary(target, eagle, law):
    runs = []
    for dress in (lambda model: model, Wide):
        base = target.open(eagle.tap_after)
        base.feed(IDS[:-1])
        drafter = ModelDrafter(dress(eagle.open(base)))
        runs.append(drafter.propose(IDS.tolist(), 4, SamplingParams(**law), Coins(3, base.device)))
    (ids, q), (wide_ids, wide_q) = runs
    assert ids.tolist() == wide_ids.tolist()
    assert q.rows.shape == (4 + 1, len(eagle.kept)) and wide_q.shape == (4, VOCAB)
    torch.testing.assert_close(q.wide(), wide_q, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("law", [{"temperature": 1.5}, {"temperature": 0.0}, {"top_k": 7}], ids=str)
def test_a_run_over_the_support_is_the_run_over_the_vocabulary(target, eagle, law):
    """Tokens, verdicts, p, q, α and candidates: all of a round's records, up to what float32 rounds."""
    runs = []
    for dress in (lambda model: model, Wide):
        base = target.open(eagle.tap_after)
        drafter = ModelDrafter(dress(eagle.open(base)))
        params = SamplingParams(**law, seed=2, max_new_tokens=60)
        runs.append([e for r in speculate(base, drafter, IDS.tolist(), params, k=4) for e in r.events])
    for one, other in zip(*runs, strict=True):
        assert (one.token_id, one.outcome, one.u) == (other.token_id, other.outcome, other.u)
        here, there = (
            [e.p, e.q or 0, e.alpha or 0, e.rest[0], e.rest[1] or 0, *(max(row.p, row.q or 0) for row in e.top[:12])]
            for e in (one, other)
        )
        assert here == pytest.approx(there, abs=1e-5)


def test_a_draft_of_another_target_is_refused(eagle, trained, tmp_path):
    save_draft(trained, tmp_path, TAPS)
    config = LlamaConfig(**CONFIG.to_dict() | {"num_hidden_layers": 2})
    with pytest.raises(LoadError, match="this target has 2 layers"):
        load_eagle(tmp_path, Llama(LlamaForCausalLM(config)))


def test_it_loads_as_the_draft_of_a_pair(trained, tmp_path):
    """Without a tokenizer or an embedding of its own, over a target of the library."""
    torch.manual_seed(0)
    size = {"vocab_size": len(byte_tokenizer())}
    module = LlamaForCausalLM(LlamaConfig(**CONFIG.to_dict() | size))
    module.save_pretrained(tmp_path / "target")
    byte_tokenizer().save_pretrained(tmp_path / "target")
    save_draft(trained, tmp_path / "draft", TAPS)
    spec = PairSpec("own", "own", str(tmp_path / "target"), str(tmp_path / "draft"))
    pair = load_pair(spec, device="cpu", dtype="float32")
    base = pair.open_target()
    drafter = ModelDrafter(pair.open_draft(base))
    rounds = list(speculate(base, drafter, pair.encode("hi", True), SamplingParams(seed=1, max_new_tokens=30), k=4))
    assert sum(len(round_.emitted) for round_ in rounds) == 30
    assert pair.draft.reads_target and pair.draft.parameters < pair.target.parameters
    assert any("reads the target's hidden states" in str(note) for note in pair.notes)


def test_a_target_of_the_library_s_forward_cannot_be_read(trained, tmp_path):
    size = {"vocab_size": len(byte_tokenizer())}
    GPT2LMHeadModel(GPT2Config(**size, n_embd=32, n_layer=2, n_head=2)).save_pretrained(tmp_path / "target")
    byte_tokenizer().save_pretrained(tmp_path / "target")
    save_draft(trained, tmp_path / "draft", TAPS)
    spec = PairSpec("own", "own", str(tmp_path / "target"), str(tmp_path / "draft"))
    with pytest.raises(LoadError, match="reads its target's hidden states, and the target runs on the library's"):
        load_pair(spec, device="cpu", dtype="float32")


def test_in_bfloat16_its_products_have_four_bits_and_say_what_their_steps_say(tmp_path, monkeypatch):
    if not multiplies_four_bits(torch.device("cpu"), torch.bfloat16):
        pytest.skip("this processor has no quick product of 4 bits")
    width, config = 64, LlamaConfig(**{**CONFIG.to_dict(), "hidden_size": 64, "num_attention_heads": 4})
    torch.manual_seed(0)
    target = Llama(LlamaForCausalLM(config).eval().bfloat16())
    shape = Shape(layers=1, hidden=width, heads=4, kv_heads=2, intermediate=96, head_size=48, taps=len(TAPS))
    draft = Draft(shape, target.embedding.float(), torch.arange(48), eps=target.eps, theta=1e4).requires_grad_(False)
    for name, tensor in draft.named_parameters():
        tensor.copy_(torch.randn(tensor.shape) * 0.3 + (tensor.dim() == 1))
        if tensor.dim() == 2 and "embedding" not in name:
            steps, size, middle = four_bits(tensor)
            groups = (steps.unflatten(1, (-1, GROUP)) - 8) * size[..., None] + middle[..., None]
            tensor.copy_(groups.flatten(1))  # on its own steps, so nothing is lost but what bfloat16 loses
    save_draft(draft, tmp_path, TAPS)
    small = load_eagle(tmp_path, target)
    monkeypatch.setattr(eagle_module, "multiplies_four_bits", lambda device, dtype: False)
    plain = load_eagle(tmp_path, target)
    products = sum(tensor.numel() for name, tensor in draft.named_parameters() if tensor.dim() == 2)
    assert (small.four_bit, plain.four_bit) == (True, False) and small.parameters == plain.parameters
    assert plain.bytes - small.bytes == pytest.approx(products * (2 - 1 / 2 - 4 / GROUP), abs=1)
    rows = []
    for eagle in (small, plain):
        run = target.open(eagle.tap_after)
        run.feed(IDS)
        rows.append(eagle.open(run).feed_narrow(IDS).float())
    assert (rows[0] - rows[1]).abs().mean() < 0.05 * rows[1].std()
