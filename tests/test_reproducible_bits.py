"""The same bits in other processes: under other BLAS kernels, C library variants and processors to compile for.

Nothing changed means kernels as shipped, for a baseline, and models compiled for this processor. Where ``SARRUS_CPU``
names another one than the baseline, kernels are compiled for that too, from their LLVM text.

``python tests/test_reproducible_bits.py`` compares all shipped models under all of them, one by one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from sarrus.codegen.machine import host

pytestmark = pytest.mark.usefixtures("usual_level")

HERE = Path(__file__).resolve().parent
MODELS = (
    *("models/five_bar.xml", "bennett", "bricard", "five_bar", "four_bar_chain", "leg_four_bar"),
    *("parallelogram", "quadruped", "slider_crank", "stewart", "three_leg_platform"),
)
# Without fused products and AVX2 the C library takes other functions, NumPy others without AVX-512.
OTHER_LIBRARIES = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
}
# Each processor, BLAS kernel and library in one of them.
TOGETHER = {
    "SkylakeX, other libraries": {"OPENBLAS_CORETYPE": "SkylakeX", **OTHER_LIBRARIES},
    "code as the tests compile it": {"SARRUS_OPTIMIZATION": "0"},
    "Haswell, x86-64-v3": {"OPENBLAS_CORETYPE": "Haswell", "SARRUS_CPU": "x86-64-v3"},
    "Prescott, x86-64": {"OPENBLAS_CORETYPE": "Prescott", "SARRUS_CPU": "x86-64"},
    "Zen, this processor": {"OPENBLAS_CORETYPE": "Zen", "SARRUS_CPU": host().cpu},
    "skylake-avx512": {"SARRUS_CPU": "skylake-avx512"},
    "znver4": {"SARRUS_CPU": "znver4"},
}
QUICK = 2  # that need no kernels for another processor, which take minutes to compile
# One by one, to tell which of them it is.
ALONE = {
    "skylake-avx512": {"SARRUS_CPU": "skylake-avx512"},
    "x86-64, no fused products": {"SARRUS_CPU": "x86-64"},
    "znver4": {"SARRUS_CPU": "znver4"},
    "this processor": {"SARRUS_CPU": host().cpu},
    "x86-64-v3": {"SARRUS_CPU": "x86-64-v3"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "other libraries": OTHER_LIBRARIES,
}


def digests(names: tuple[str, ...], changes: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return the digests that a process with changed environment variables finds."""
    path = os.pathsep.join([str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, str(HERE / "bits.py"), *names],
        env={**os.environ, **changes, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return dict(json.loads(found.stdout))


def runs_here(changes: dict[str, str]) -> bool:
    """Tell whether this processor has what the one to compile for has."""
    need = {
        "x86-64-v3": ("avx2", "fma"),
        "skylake-avx512": ("avx512f", "avx512bw"),
        "znver4": ("avx512_bf16",),
    }
    cpu = Path("/proc/cpuinfo")
    if changes.get("SARRUS_CPU", host().cpu) == host().cpu:
        return True
    has = set(cpu.read_text().split()) if cpu.exists() else set()
    return "lm" in has and has.issuperset(need.get(changes["SARRUS_CPU"], ()))


@cache
def here() -> dict[str, dict[str, str]]:
    """Return the digests of a process with nothing changed."""
    return digests(MODELS, {})


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if k < QUICK else pytest.mark.slow) for k, name in enumerate(TOGETHER)],
)
def test_bits_are_the_same(name: str) -> None:
    """Fixed, adaptive and implicit steps, a batch, linear models, and runs through singular configurations."""
    changes = TOGETHER[name]
    if not runs_here(changes):
        pytest.skip("this processor lacks instructions of that one")
    assert digests(MODELS, changes) == here()


def main() -> None:
    """Compare all shipped models under all variants, and print which differ in what."""
    usual = digests((), {})
    for name, changes in ALONE.items():
        if not runs_here(changes):
            print(f"{name}: not on this processor")
            continue
        found = digests((), changes)
        wrong = [
            f"{model}: {kind}"
            for model in usual
            for kind in usual[model]
            if usual[model][kind] != found[model].get(kind)
        ]
        print(f"{name}: {'the same' if not wrong else ', '.join(wrong)}", flush=True)


if __name__ == "__main__":
    main()
