"""Every example runs, keeps its own assertions, and ends with one JSON object."""

from __future__ import annotations

import json
import math

import pytest

from conftest import EXAMPLES, load_example

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
REQUIRED = {
    "particle_on_circle", "slider_crank", "five_bar", "parallelogram", "two_mass_spring", "two_arms",
    "three_leg_platform", "front_loader", "four_bar_chain", "bricard", "bennett", "stewart", "quadruped",
    "leg_four_bar", "stiff",
}  # fmt: skip

# What the longest examples are asked to do here; on their own they do more.
SHORT = {
    "walk_in_mujoco": lambda module: module.main(runs=1),
    "biped_walk": lambda module: module.main(runs=0),
    "hexapod": lambda module: module.main(feet=tuple(module.LEGS)[:2]),
    "quadruped_gaits": lambda module: module.main(module.BRIEF),
    "gym_ppo": lambda module: module.main(rounds=1),  # more in test_gym_learning.py
}
# Modules of extras that an example needs.
NEEDS = {"gym_ppo": "torch"}
# Those that take ten seconds or more.
LONG = {"biped_walk", "hexapod"}


def test_all_models_ship():
    assert set(NAMES) >= REQUIRED


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in NAMES]
)
def test_example_keeps_its_claims(name, tmp_path, monkeypatch, capsys):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [name])
    SHORT.get(name, lambda module: module.main())(load_example(name))
    figures = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert isinstance(figures, dict)
    assert figures
    for key, value in figures.items():
        if isinstance(value, float):
            assert math.isfinite(value), key
