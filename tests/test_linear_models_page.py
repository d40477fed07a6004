"""docs/linear_models.md says what docs/linear_models.py measures today."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sarrus as sr

SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "linear_models.py"
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+\.?\d*(?:e[-+]?\d+)?")


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("linear_models", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(text: str) -> list[str]:
    """Return the text without its numbers and without the spaces that align them."""
    return NUMBER.sub("#", text).split()


def numbers(text: str) -> np.ndarray:
    return np.array([float(found.replace("−", "-")) for found in NUMBER.findall(text)])


def test_the_page_is_what_the_script_writes(page: ModuleType) -> None:
    fresh, committed = page.render(page.measure()), page.PAGE.read_text(encoding="utf-8")
    assert words(fresh) == words(committed)
    before, now = numbers(committed), numbers(fresh)
    assert len(before) > 100
    # Finite differences of another version of MuJoCo, and sizes of errors, may differ a little.
    np.testing.assert_allclose(now, before, rtol=0.05, atol=2e-8)
    exact = np.abs(now - before) <= 2e-4 * np.abs(before) + 1e-12
    assert np.mean(exact) > 0.95


def test_what_the_page_claims(page: ModuleType) -> None:
    """Eigenvalues agree at the equilibrium, differ where the loader accelerates, and are the textbook's."""
    loader = page.example("front_loader")
    system = sr.System(loader.build())
    q = loader.pose(system, *page.POSE)
    choices = list(page.CHOICES.values())
    held, falling = (
        [np.sort_complex(method(system, q, u=u, coordinates=names).eigenvalues ** 2) for names in choices]
        for method, u in ((sr.linearize, page.held_by(system, q)), (sr.linearize_at, None))
    )
    np.testing.assert_allclose(held[0], held[1], rtol=1e-10)
    assert np.abs(falling[0] - falling[1]).max() > 0.1
    _, _, error, size = page.along_section(system, q)
    assert error < 1e-3 * size
    linkage = sr.System(page.four_bar())
    rest = sr.equilibrium(linkage, linkage.assemble([-1.0, 1.0, -1.5]).q, stable=True)
    soft, ours = page.mujoco_eigenvalues(linkage, np.array(rest.q)), sr.linearize(linkage, rest.q).eigenvalues
    assert soft.shape == (6,)
    assert ours.shape == (2,)
    assert np.count_nonzero(soft.real < -10.0) == 4
    np.testing.assert_allclose(np.abs(soft[soft.real > -10.0].imag), np.abs(ours.imag), rtol=0.01)
