"""A model that was checked is known again by a stamp, and by nothing else than what was checked."""

import os
from pathlib import Path

import pytest
import torch

from specdemo.models import stamp
from specdemo.models.stamp import stamp_for

CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def of(folder: Path, dtype: torch.dtype = torch.float32, four_bit: bool = False) -> stamp.Stamp:
    return stamp_for(folder, folder, dtype, CPU, four_bit)


def test_what_was_found_is_read_back(folder: Path) -> None:
    assert of(folder).read() is None
    of(folder).set({"ends": [2], "frequency": 0.1})
    assert of(folder).read() == {"ends": [2], "frequency": 0.1}


def test_other_numbers_files_code_or_libraries_are_another_stamp(folder: Path, tmp_path: Path, monkeypatch) -> None:
    of(folder).set({})
    assert of(folder, torch.bfloat16).read() is None
    assert of(folder, four_bit=True).read() is None
    with monkeypatch.context() as patch:
        patch.setattr(stamp, "version", lambda name: "0")
        assert of(folder).read() is None
    with monkeypatch.context() as patch:
        (tmp_path / "llama.py").write_text("an edit")
        patch.setattr(stamp, "_CODE", tmp_path)
        assert of(folder).read() is None
    with monkeypatch.context() as patch:
        patch.setattr(stamp, "_processor", lambda device: ["another"])
        assert of(folder).read() is None
    assert of(folder).read() == {}
    os.utime(folder / "model.safetensors", ns=(0, 0))
    assert of(folder).read() is None


def test_a_damaged_stamp_is_none(folder: Path) -> None:
    of(folder).set({"ends": [2]})
    of(folder).path.write_text('{"ends": [')
    assert of(folder).read() is None


def test_a_user_s_folder_gets_none(folder: Path) -> None:
    nowhere = stamp_for(None, folder, torch.float32, CPU, four_bit=False)
    nowhere.set({})
    assert nowhere.read() is None and {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors"}


def test_where_it_cannot_be_written_nothing_happens(folder: Path) -> None:
    stamp.Stamp(folder / "nosuch" / "checked.json").set({})
