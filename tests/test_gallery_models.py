"""The gallery of models: complete, small, and drawn from the code that it shows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from conftest import EXAMPLES

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs" / "gallery"
PAGE = (GALLERY / "index.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_make", GALLERY / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_model_that_ships_is_shown(make: ModuleType) -> None:
    shown = set(make.PICTURE.findall(PAGE))
    builders = {path.stem for path in EXAMPLES.glob("*.py") if "\ndef build(" in path.read_text("utf-8")}
    assert builders <= shown
    assert {path.stem for path in (ROOT / "models").glob("*.xml")} <= shown


def test_pictures_and_films_exist_and_are_small(make: ModuleType) -> None:
    files = list(make.IMAGES.iterdir())
    names = set(make.PICTURE.findall(PAGE))
    assert {path.stem for path in files} == names
    assert {path.stem for path in files if path.suffix == ".gif"} == names
    assert max(path.stat().st_size for path in files) <= make.LARGEST
    assert sum(path.stat().st_size for path in files) < 6e6
    for path in files:
        assert path.name in PAGE


@pytest.mark.parametrize("name", ["slider_crank", "bennett"])
def test_pictures_are_those_of_the_code(
    make: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    ((found, motion),) = make.motions(PAGE, [name])
    make.draw(found, motion, tmp_path)
    with Image.open(tmp_path / f"{name}.png") as new, Image.open(make.IMAGES / f"{name}.png") as old:
        assert new.size == old.size
        assert np.abs(np.array(new.convert("L"), float) - np.array(old.convert("L"), float)).mean() < 2.0
    with Image.open(tmp_path / f"{name}.gif") as new, Image.open(make.IMAGES / f"{name}.gif") as old:
        assert new.size == old.size
        assert new.n_frames == old.n_frames > 30


def test_an_unknown_model_is_refused_by_name(make: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"no such model: sixbar\. Known: five_bar, slider_crank"):
        make.main(["sixbar"])
