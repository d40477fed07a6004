"""What CONTRIBUTING.md tells to change makes a new joint and a new closure."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^```diff\n(.*?)^```.*?^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_there_is_one_of_each() -> None:
    assert [re.search(r"pin_slot|parallel_axes", diff)[0] for diff, _ in STEPS] == [
        "pin_slot",
        "parallel_axes",
    ]


@pytest.mark.parametrize("step", range(len(STEPS)), ids=["joint", "closure"])
def test_the_changes_apply_and_work(step: int, tmp_path: Path) -> None:
    diff, script = STEPS[step]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    apply = ["git", "apply", "-C1", "-"]
    subprocess.run(apply, input=diff, text=True, check=True, cwd=tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env=environment)
