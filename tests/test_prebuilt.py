"""The kernels that the package ships: in the wheel, and never used where they do not belong."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import setuptools

from sarrus.base.errors import WriteError
from sarrus.codegen import cache, machine
from sarrus.codegen.machine import Host, baseline, host
from sarrus.kernels.platform import build_prebuilt, c_function, prebuilt
from sarrus.kernels.platform import source_digest as origin
from sarrus.kernels.platform.c_function import KERNELS, Kernel
from sarrus.kernels.platform.source_digest import reached, sources

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "tests"
V3 = "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,"
V3 += "+sse4.1,+sse4.2,+ssse3,+xsave"
USED = """
import sys
sys.modules["sarrus.kernels.platform.build"] = None  # what is shipped is used
sys.argv = ["bits.py", "models/five_bar.xml", "stewart"]
sys.path.insert(0, {tests!r})
import bits
bits.main()
"""


@pytest.fixture(scope="module")
def shipped() -> prebuilt.Prebuilt:
    """The file of this checkout; made where there is none."""
    build_prebuilt.build_prebuilt(prebuilt.FILE)
    found = prebuilt.read(prebuilt.FILE)
    assert found is not None
    return found


def test_the_suite_runs_what_is_shipped(shipped):
    assert {*shipped.places} == {kernel.name for kernel in KERNELS}
    assert len({kernel.name for kernel in KERNELS}) == len(KERNELS)
    assert prebuilt.shipped() is not None
    assert not build_prebuilt.build_prebuilt(prebuilt.FILE)  # it is there


@pytest.mark.parametrize("fact", ["format", "platform", "cpu", "features"])
def test_what_is_made_from_or_for_other_things_is_not_used(shipped, tmp_path, fact):
    line, _, parts = prebuilt.FILE.read_bytes().partition(b"\n")
    header = json.loads(line)
    header[fact] = 0 if fact == "format" else header[fact] + "x"
    other = tmp_path / "other.bin"
    other.write_bytes(json.dumps(header).encode() + b"\n" + parts)
    assert prebuilt.read(other) is None
    assert prebuilt.read(tmp_path / "none.bin") is None
    other.write_bytes(prebuilt.FILE.read_bytes()[: len(line) // 2])
    assert prebuilt.read(other) is None


def test_modules_reach_what_they_import():
    """Found by their text, here by the syntax tree: a kernel is made anew where one of these changes, not elsewhere."""
    modules = {
        ".".join(path.relative_to(origin.HERE).with_suffix("").parts): path
        for path in origin.HERE.rglob("*.py")
        if path.stem != "__init__"
    }
    for own, path in modules.items():
        named = set()
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sarrus.kernels"):
                room = node.module.removeprefix("sarrus.kernels").lstrip(".")
                named |= {room, *(f"{room}.{alias.name}".strip(".") for alias in node.names)}
        direct = named & modules.keys() | {own}
        assert reached(own) == direct.union(*(reached(name) for name in direct - {own}))
    assert "algebra.factor" in reached("integrate.run")
    assert "raster" not in reached("integrate.run")


@pytest.mark.parametrize("changed", ["raster", "algebra.factor", "platform.llvm_functions"])
def test_kernels_made_from_other_sources_are_not_used(shipped, tmp_path, monkeypatch, changed):
    """Those whose module reaches the change are compiled anew, and the others taken over."""
    before = {kernel.name: sources(kernel.module) for kernel in KERNELS}
    read = origin._source.__wrapped__
    monkeypatch.setattr(
        origin, "_source", lambda module: read(module) + (b"# new" if module == changed else b"")
    )
    origin._digest.cache_clear()
    try:
        new = {kernel.name for kernel in KERNELS if sources(kernel.module) != before[kernel.name]}
        every = changed == "platform.llvm_functions"
        assert new == {kernel.name for kernel in KERNELS if every or changed in reached(kernel.module)}
        assert 0 < len(new) < len(KERNELS) or every
        for kernel in KERNELS:
            found = shipped.code(kernel.name, sources(kernel.module))
            assert (found is None) == (kernel.name in new)
        made = list[str]()
        pool = SimpleNamespace(submit=lambda function, module, name: made.append(name))
        monkeypatch.setattr(build_prebuilt, "ProcessPoolExecutor", lambda **settings: nullcontext(pool))
        monkeypatch.setattr(build_prebuilt, "as_completed", lambda tasks: ())
        monkeypatch.setattr(build_prebuilt, "write", lambda path, content, kept: None)
        build_prebuilt.build_prebuilt(prebuilt.FILE)
        assert set(made) == new
    finally:
        origin._digest.cache_clear()


FIRST = """
import sarrus as sr
from sarrus.kernels.platform.c_function import KERNELS
mechanism = sr.load("models/five_bar.xml")
system = sr.System(mechanism)
start = mechanism.keyframes["symmetric"].q
sr.simulate(system, start, duration=1.0)
system.forward_dynamics(start, [0.0] * system.nv)
print(*[kernel.name for kernel in KERNELS if "_code" in kernel.__dict__])
"""


def test_a_first_simulation_loads_the_first_kernels_alone():
    done = subprocess.run([sys.executable, "-c", FIRST], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {kernel.name for kernel in c_function.FIRST_KERNELS}


def test_the_first_kernels_are_shipped_alone_and_the_others_added(shipped, tmp_path, monkeypatch):
    monkeypatch.setattr(
        build_prebuilt,
        "KERNELS",
        (Kernel("batch.batch", "prepare"), Kernel("platform.python_call", "BRIDGE")),
    )
    path = tmp_path / "prebuilt.bin"
    assert build_prebuilt.build_prebuilt(path, build_prebuilt.KERNELS[1:])
    assert {*prebuilt.read(path).places} == {"BRIDGE"}
    assert build_prebuilt.build_prebuilt(path)
    assert {*prebuilt.read(path).places} == {"prepare", "BRIDGE"}
    assert not build_prebuilt.build_prebuilt(path, build_prebuilt.KERNELS[1:])


def test_damaged_parts_are_not_used(shipped, tmp_path):
    data = bytearray(prebuilt.FILE.read_bytes())
    offset, size, _ = shipped.places["dense"]
    data[shipped.start + offset + size // 2] ^= 1
    damaged = tmp_path / "damaged.bin"
    damaged.write_bytes(data)
    found = prebuilt.read(damaged)
    assert found is not None
    assert found.code("dense", sources("algebra.dense")) is None
    forward = sources("solve.forward")
    assert found.code("forward", forward) == shipped.code("forward", forward) is not None
    damaged.write_bytes(data[: shipped.start + offset])
    found = prebuilt.read(damaged)
    assert found.code("dense", sources("algebra.dense")) is None


@pytest.mark.parametrize("missing", ["avx2", "fma", "bmi2"])
def test_a_processor_without_the_baseline_gets_code_of_its_own(
    shipped, tmp_path, monkeypatch, capsys, missing
):
    """It is compiled when it is first needed, which the terminal is told, and kept in the cache."""
    made_for = Host(host().triple, "x86-64-v3", "")
    assert Host(host().triple, "znver9", V3 + ",+other").runs(made_for)
    poor = Host(host().triple, host().cpu, V3.replace(f"+{missing}", f"-{missing}"))
    assert not poor.runs(made_for)
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(c_function, "_for_here", lambda: False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    kernel = Kernel("batch.batch", "prepare")
    assert kernel.address
    assert cache.has(kernel._key)
    assert re.fullmatch(
        r"sarrus: compiled the kernel prepare for this machine, \d+\.\d s\n", capsys.readouterr().err
    )
    assert Kernel("batch.batch", "prepare").address
    assert capsys.readouterr().err == ""


def test_a_processor_that_is_asked_for_gets_its_own_code(monkeypatch):
    monkeypatch.setenv("SARRUS_CPU", "znver9")
    assert not Host(host().triple, "znver9", V3).runs(Host(host().triple, "x86-64-v3", ""))
    assert baseline().runs(baseline())
    assert Host("arm64-apple-darwin23.1.0", "x", "").platform == f"arm64-{sys.platform}"
    assert machine.BASELINES["x86_64"] == "x86-64-v3"


def test_without_the_file_kernels_are_compiled_when_they_are_needed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(c_function, "shipped", lambda: None)
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))
    kernel = Kernel("batch.batch", "prepare")
    assert kernel.address
    assert cache.has(kernel._key)
    assert capsys.readouterr().err == ""  # no terminal


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    """Two builds at once leave the file of one of them; a failure leaves what was there."""
    monkeypatch.setattr(
        build_prebuilt,
        "KERNELS",
        (Kernel("batch.batch", "prepare"), Kernel("platform.python_call", "BRIDGE")),
    )
    path = tmp_path / "prebuilt.bin"
    path.write_bytes(b"{}\n")
    command = (
        "import sys; from pathlib import Path; from sarrus.kernels.platform import build_prebuilt; "
        "from sarrus.kernels.platform.c_function import Kernel; "
        "build_prebuilt.KERNELS = (Kernel('batch.batch', 'prepare'),); build_prebuilt.build_prebuilt(Path(sys.argv[1]))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    both = [subprocess.Popen([sys.executable, "-c", command, str(path)], env=environment) for _ in range(2)]
    assert [process.wait(240) for process in both] == [0, 0]
    found = prebuilt.read(path)
    assert found is not None
    assert found.code("prepare", sources("batch.batch"))
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    before = path.read_bytes()
    monkeypatch.setattr(prebuilt, "read", lambda path: None)
    monkeypatch.setattr(prebuilt, "pieces", lambda objects, sources: _until_full())
    with pytest.raises(WriteError):
        build_prebuilt.build_prebuilt(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def _until_full() -> Iterator[bytes]:
    yield b"a"
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.slow
@pytest.mark.skipif(int(setuptools.__version__.split(".")[0]) < 77, reason="builds take setuptools 77")
def test_a_run_from_the_wheel_compiles_no_kernel_and_has_the_same_bits(shipped, tmp_path):
    checkout = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", checkout / "src", ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    offline = ["--no-build-isolation", "--no-deps", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", *offline, "--wheel-dir", tmp_path, checkout]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-py3-none-" in wheel.name
    assert not wheel.name.endswith("-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("sarrus/kernels/prebuilt.bin") == prebuilt.FILE.read_bytes()
        archive.extractall(tmp_path / "site")
    found = []
    for place, cache_place in ((tmp_path / "site", "one"), (ROOT / "src", "two")):
        environment = os.environ | {
            "PYTHONPATH": str(place),
            "OMP_NUM_THREADS": "1",
            "SARRUS_CACHE_DIR": str(tmp_path / cache_place),
        }
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", USED.format(tests=str(HERE))],
            env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1]
