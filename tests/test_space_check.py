"""`space check`: this clone passes, and each fault that is planted in a copy is found by the line it belongs to."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tiny import tiny_pair

from specdemo.cli import main
from specdemo.models import LoadError
from specdemo.space import check, front, luggage, needs, trial
from specdemo.space.check import findings

ROOT = Path(__file__).resolve().parents[1]
TRAVELS = ("README.md", "LICENSE", "app.py", "requirements.txt", "pre-requirements.txt", "tools/constraints.txt")


@pytest.fixture(scope="module")
def pair():
    return tiny_pair()


@pytest.fixture
def clone(tmp_path):
    """The files of this clone that the check reads, in a git of their own."""
    for name in TRAVELS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def wrong(root, load=None):
    """The names and the words of what was found wrong."""

    def no_pair():
        raise LoadError("hub_unknown", name="it")

    found = {finding.name: finding for finding in findings(root, load or no_pair)}
    if load is None:
        assert not found.pop("pair").sound
    return {name: finding.words for name, finding in found.items() if not finding.sound}


def change(file, old, new):
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_this_clone_is_fit_for_a_space(pair):
    found = list(findings(ROOT, lambda: pair))
    assert [finding.words for finding in found if not finding.sound] == []
    assert [finding.name for finding in found] == [
        *("front matter", "versions", "licence", "files", "decorator", "pickles", "forked worker")
    ]
    assert "the same tokens" in found[-1].words


def test_the_command_says_a_line_each_and_exits_with_what_it_found(pair, monkeypatch, capsys):
    from specdemo.cli import space

    monkeypatch.setattr(space, "load_pair", lambda spec: pair)
    assert main(["space", "check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7 and all(line.startswith("ok ") for line in lines)
    monkeypatch.setattr(trial, "written", lambda news: {"spec": [object()]})
    assert main(["space", "check"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("WRONG  forked worker  it writes other tokens")
    with pytest.raises(SystemExit):
        main(["space", "deploy"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("---\n", "", "does not begin with a block"),
        ("title:", "title: [", "README.md: "),
        ("title: Speculative sampling\n", "", "title is missing"),
        ("sdk: gradio", "sdk: streamlit", "sdk is 'streamlit'; it must be gradio"),
        ('"3.12.12"', "3.12", "python_version is 3.12; it must be a version of Python in quotes"),
        ("visible, exact", "visible, replayed, judged token by token, exact", "at most 60 characters"),
        ("emoji: 🎲", "emoji: dice", "emoji is 'dice'"),
        ("colorTo: green", "colorTo: teal", "colorTo is 'teal'"),
        ("cpu-basic", "cpu-huge", "suggested_hardware is 'cpu-huge'"),
        ("- HuggingFaceTB/SmolLM2-135M-Instruct", "- SmolLM2", "models is ['SmolLM2']"),
        ("header: mini", "heading: mini", "heading is no field"),
        ("header: mini", "preload_from_hub: [a/b x y]", "preload_from_hub is ['a/b x y']"),
        ("header: mini", "preload_from_hub: [a/b]", "a/b, which models does not list"),
        ("app_file: app.py", "app_file: main.py", "there is no such file"),
    ],
)
def test_a_fault_in_the_front_matter(clone, old, new, words):
    change(clone / "README.md", old, new)
    assert words in wrong(clone)["front matter"]


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("README.md", "sdk_version: 6.31.0", "sdk_version: 6.30.0", "sdk_version is 6.30.0; requirements.txt asks for"),
        ("README.md", "sdk_version: 6.31.0", "sdk_version: 6.32.0", "tools/constraints.txt asks for gradio==6.31.0"),
        ("README.md", '"3.12.12"', '"3.10.13"', "this program runs on 3.12.12"),
        ("requirements.txt", "torch>=2.8", "torch>=2.9", "ZeroGPU lists 2.8.0"),
        ("pre-requirements.txt", "torch==2.11.0", "torch==2.13.0", "it must be one that ZeroGPU lists"),
        ("pre-requirements.txt", "torch==2.11.0", "torch>=2.11", "it must be one that ZeroGPU lists"),
    ],
)
def test_a_version_that_does_not_fit(clone, file, old, new, words):
    change(clone / file, old, new)
    assert words in wrong(clone)["versions"]


def test_a_licence_that_is_not_the_one_that_lies_there(clone):
    (clone / "LICENSE").write_text("MIT License\n\nPermission is hereby granted")
    assert wrong(clone) == {"licence": "license is 'apache-2.0', and LICENSE begins with 'MIT License'"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("notes.md", "hf_" + "a1" * 17, "notes.md has a token of the hub"),
        ("a/b.py", "x = 'ghp_" + "Z9" * 18 + "'", "a/b.py has a token of GitHub"),
        ("key.txt", "-----BEGIN RSA PRIVATE " + "KEY-----", "key.txt has a private key"),
        (".env", "", ".env is named like a secret"),
        ("deploy.pem", "", "deploy.pem is named like a secret"),
    ],
)
def test_a_secret_that_would_travel(clone, name, text, words):
    (clone / name).parent.mkdir(exist_ok=True)
    (clone / name).write_text(text)
    assert wrong(clone) == {"files": words}
    assert not text or text not in words


def test_what_git_ignores_stays_at_home(clone):
    (clone / ".gitignore").write_text(".env\n")
    (clone / ".env").write_text("secret")
    assert wrong(clone) == {}


def test_files_that_are_too_large(clone, monkeypatch):
    monkeypatch.setattr(luggage, "MOST_FILE", 2000)
    assert "LICENSE has 0 MB" in wrong(clone)["files"]
    monkeypatch.undo()
    monkeypatch.setattr(luggage, "MOST_ALL", 2000)
    assert "all files have" in wrong(clone)["files"]


def test_a_folder_that_is_no_clone(clone):
    shutil.rmtree(clone / ".git")
    assert "is no git clone" in wrong(clone)["files"]


def test_a_work_that_does_not_pickle(pair):
    asked = trial.work()
    news = trial.here(pair, asked)
    with pytest.raises(ValueError, match="a Work does not pickle"):
        trial.pickled(asked._replace(begin=lambda pair: iter(news)), news)
    with pytest.raises(ValueError, match="a Fake does not pickle"):
        trial.pickled(asked, [type("Fake", (), {})()])


def test_a_worker_that_fails_or_dies(pair):
    asked = trial.work()

    def breaks(pair):
        yield None
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="inside the engine"):
        trial.forked(pair, asked._replace(begin=breaks))
    with pytest.raises(ValueError, match="the worker died"):
        trial.forked(pair, asked._replace(begin=dies))


def dies(pair):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)
    yield None


def test_the_decorator_is_tried(monkeypatch):
    monkeypatch.setattr(check, "find_spec", lambda name: True)
    monkeypatch.setattr(check, "gpu", lambda: lambda duration: lambda function: lambda work: function(work))
    assert not check._finding("decorator", check._decorator).sound
    monkeypatch.setattr(check, "gpu", lambda: lambda duration: lambda function: function)
    assert check._finding("decorator", check._decorator).sound


def test_every_version_of_zerogpu_is_one_that_the_page_names():
    """The list stands in one place, and the documentation says what it says."""
    text = (ROOT / "docs" / "spaces.md").read_text("utf-8")
    assert all(version in text for version in needs.ZERO_TORCH)
    assert front.front_matter(ROOT / "README.md")["license"] == "apache-2.0"
