"""What the suite does before the first test: it imports its files and builds nothing; its second stage is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from second_stage import ALL, SECOND_STAGE

ROOT = Path(__file__).resolve().parent.parent
COLLECT = """
import sys
import pytest
from sarrus.codegen import compiler
from sarrus.dynamics.model import model

def refuse(*arguments, **options):
    raise AssertionError("a test file builds a system when it is imported")

model.Model.__init__ = compiler.compile_function = refuse
sys.exit(pytest.main(["--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"]))
"""


@pytest.mark.slow
def test_nothing_is_built_and_the_second_stage_is_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    found = {name for name in done.stdout.splitlines() if name.startswith("tests/")}
    found |= {name.split("[")[0] for name in found} | {name.split("::")[0] for name in found}
    for file, names in SECOND_STAGE.items():
        named = {f"tests/{file}"} if names is ALL else {f"tests/{file}::{name}" for name in names}
        assert named - found == set()
