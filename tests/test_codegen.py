"""Native code: every operation against CasADi, chunks, layout, disk cache, calls from kernels."""

from __future__ import annotations

import ast
import gc
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.special import erfinv

import sarrus.codegen
from kernel_functions import compiled
from sarrus.base.errors import ArgumentError, CacheWarning, SarrusError
from sarrus.codegen import (
    CompilationError,
    UnsupportedOperationError,
    cache,
    cache_info,
    clear_cache,
    compile_function,
    compiler,
    generator,
)
from sarrus.codegen.emit import assign_slots
from sarrus.codegen.operations import IDENTITIES, OPERATION_NAMES
from sarrus.codegen.operations import OPERATIONS as NATIVE
from sarrus.codegen.program import read_program
from sarrus.kernels.memory.record import Floats, Integers
from sarrus.kernels.platform.build import function_text
from sarrus.kernels.platform.native_call import call_native

pytestmark = pytest.mark.usefixtures("usual_level")

SPECIAL = np.array(
    [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.7, 7.0, 1e5, 5e-324, 1e-300, -1e300, np.inf, -np.inf, np.nan]
)
OPERATIONS = sorted(set(NATIVE) | (IDENTITIES - {ca.OP_PRINTME}))
SIGN_OF_ZERO_IS_FREE = {ca.OP_FMIN, ca.OP_FMAX}


@pytest.fixture(autouse=True)
def cache_directory(tmp_path, monkeypatch):
    directory = tmp_path / "cache"
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(directory))
    return directory


def points():
    rng = np.random.default_rng(0)
    special = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1).T
    scales = 10.0 ** rng.integers(-3, 3, (60, 2))
    return np.vstack([special, rng.uniform(-1, 1, (60, 2)), scales * rng.normal(size=(60, 2))])


def all_operations():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    return x, y, {OPERATION_NAMES[op]: ca.SX.binary(op, x, y) for op in OPERATIONS}


@pytest.fixture(scope="module", params=[0, 5], ids=["one function", "chunks"])
def evaluated(request, tmp_path_factory):
    """Values of all operations at all points: native and CasADi's, one column per operation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SARRUS_CACHE_DIR", str(tmp_path_factory.mktemp("operations")))
        patch.delenv("SARRUS_OPTIMIZATION", raising=False)
        x, y, expressions = all_operations()
        native = compile_function("operations", [x, y], expressions, chunk=request.param)
    reference = ca.Function("reference", [x, y], [ca.vertcat(*expressions.values())])
    got = np.array([native(point) for point in points()])
    expected = np.array([np.array(reference(*point)).ravel() for point in points()])
    return got, expected


@pytest.mark.parametrize("op", OPERATIONS, ids=OPERATION_NAMES.get)
def test_operation_has_the_value_of_casadi(evaluated, op):
    got, expected = (values[:, OPERATIONS.index(op)] for values in evaluated)
    if op == ca.OP_ERFINV:
        x = points()[:, 0]
        expected = np.copysign(erfinv(x), x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_allclose(got, expected, rtol=1e-15, atol=0)
    if op not in SIGN_OF_ZERO_IS_FREE:
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


def test_every_scalar_operation_of_casadi_is_covered():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    for op in OPERATION_NAMES:
        function = ca.Function("f", [x, y], [ca.SX.binary(op, x, y)])
        used = {function.instruction_id(k) for k in range(function.n_instructions())}
        assert used <= set(NATIVE) | IDENTITIES | {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST}


def test_erfinv_keeps_its_relative_accuracy_to_the_ends():
    x = ca.SX.sym("x")
    native = compile_function("inverse", [x], {"y": ca.erfinv(x)})
    tail = 1 - 10.0 ** -np.arange(1, 16)
    for value in np.concatenate([tail, -tail, 10.0 ** -np.arange(1, 300, 20), np.linspace(-0.99, 0.99, 100)]):
        np.testing.assert_allclose(native([value]), erfinv(value), rtol=1e-15)


def test_printme_is_the_identity():
    x = ca.SX.sym("x")
    assert compile_function("print", [x], {"y": 2 * x.printme(ca.SX(1))})([3.0]) == 6.0


def test_condition_hides_what_it_does_not_select():
    x = ca.SX.sym("x")
    native = compile_function("guarded", [x], {"y": ca.if_else(x > 0, ca.log(x), 1 / x)})
    np.testing.assert_allclose(native([0.0]), [np.inf])
    np.testing.assert_allclose(native([-2.0]), [-0.5])
    np.testing.assert_allclose(native([np.e]), [1.0])


def test_call_of_a_function_is_refused_by_name():
    x = ca.SX.sym("x")
    inner = ca.Function("inner", [x], [ca.sin(x)], {"never_inline": True})
    with pytest.raises(UnsupportedOperationError, match="law: instruction 1 is OP_CALL") as caught:
        compile_function("law", [x], {"y": inner(x)})
    assert caught.value.element == "OP_CALL"
    assert isinstance(caught.value, SarrusError)


def graph(n, seed=0):
    """Inputs and outputs of a random graph of positive numbers, whose rounding errors stay small."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", 6)
    values = x.elements()
    steps = [
        lambda a, b: a + b / (1 + a),
        lambda a, b: a * b / (1 + b),
        lambda a, b: ca.sqrt(a * a + b),
        lambda a, b: ca.atan2(a, b) + 0.1,
        lambda a, b: ca.if_else(a < b, a + 1, ca.log1p(b)),
        lambda a, b: 1 + ca.sin(a) * ca.cos(b) * 0.5,
    ]
    for _ in range(n):
        a, b = rng.integers(len(values), size=2)
        values.append(steps[rng.integers(len(steps))](values[a], values[b]))
    return x, ca.vertcat(*values[-40:], sum(values))


@pytest.mark.parametrize("chunk", [0, 1, 7, 100, None])
def test_one_function_and_chunks_agree_with_casadi(chunk, monkeypatch):
    monkeypatch.setattr(compiler, "CHUNK_THRESHOLD", 300)
    monkeypatch.setattr(compiler, "CHUNK", 50)
    x, y = graph(400)
    native = compile_function("graph", [x], {"y": y}, chunk=chunk)
    assert (native.chunks == 1) == (chunk == 0)
    reference = ca.Function("f", [x], [y])
    for point in np.random.default_rng(1).uniform(0.1, 2, (20, 6)):
        np.testing.assert_allclose(native(point), np.array(reference(point)).ravel(), rtol=2e-14)


def test_large_functions_are_split_by_default():
    x, y = graph(1500)
    native = compile_function("large", [x], {"y": y})
    assert native.chunks > 1
    point = np.full(6, 0.7)
    reference = ca.Function("f", [x], [y])
    np.testing.assert_allclose(native(point), np.array(reference(point)).ravel(), rtol=1e-12)


def test_slots_are_shared_by_values_that_do_not_live_together():
    x, y = graph(400)
    step = 20
    program = read_program(ca.Function("f", [x], [y]), "f")
    slots, n_slots = assign_slots(program, step)
    assert 0 < n_slots < len(slots)
    last = {value: index for index in range(len(program.instructions)) for value in program.operands(index)}
    for value, slot in slots.items():
        for other, other_slot in slots.items():
            if slot == other_slot and value < other:
                assert last[value] // step < other // step


def test_outputs_are_dense_and_row_major():
    x = ca.SX.sym("x", 6)
    full = ca.reshape(x, 2, 3)
    sparse = ca.SX(3, 2)
    sparse[0, 1] = x[0]
    sparse[2, 0] = ca.sin(x[1])
    outputs = {"full": full, "sparse": sparse, "zero": ca.SX(2, 2), "again": full, "scalar": x[5]}
    native = compile_function("layout", [x], outputs)
    value = np.arange(1.0, 7.0)
    out = native(value)
    assert native.n_in == 6
    assert native.n_out == out.size == 6 + 6 + 4 + 6 + 1
    got = {key: out[place].reshape(shape) for key, (place, shape) in native.outputs.items()}
    np.testing.assert_array_equal(got["full"], value.reshape(3, 2).T)
    np.testing.assert_array_equal(got["again"], got["full"])
    np.testing.assert_array_equal(got["sparse"], [[0, 1], [0, 0], [np.sin(2.0), 0]])
    np.testing.assert_array_equal(got["zero"], np.zeros((2, 2)))
    np.testing.assert_array_equal(got["scalar"], [[6.0]])


@pytest.mark.parametrize("chunk", [0, 2])
def test_inputs_are_joined_in_order_and_may_be_empty(chunk):
    q, u, t = ca.SX.sym("q", 2), ca.SX.sym("u", 0), ca.SX.sym("t")
    outputs = {"none": ca.SX(0, 3), "constant": ca.SX(2.5), "copy": ca.vertcat(t, q), "number": ca.DM([1, 2])}
    native = compile_function("order", [q, u, t], outputs, chunk=chunk)
    np.testing.assert_array_equal(native([1, 2, 3]), [2.5, 3, 1, 2, 1, 2])
    assert native.outputs["none"] == (slice(0, 0), (0, 3))


def test_nothing_in_and_nothing_out():
    assert compile_function("nothing", [], {})([]).shape == (0,)
    np.testing.assert_array_equal(compile_function("constant", [], {"c": ca.SX(2)})([]), [2])
    assert compile_function("ignored", [ca.SX.sym("x", 3)], {"e": ca.SX(0, 1)})([1, 2, 3]).shape == (0,)


def test_bad_inputs_are_named():
    x = ca.SX.sym("x", 3)
    with pytest.raises(CompilationError, match="x_0 appears twice"):
        compile_function("f", [x, x], {"y": x})
    with pytest.raises(CompilationError, match="input 1 must hold symbols only"):
        compile_function("f", [x, ca.sin(x)], {"y": x})
    with pytest.raises(CompilationError, match="input 0 must be a dense column"):
        compile_function("f", [x.T], {"y": x})
    with pytest.raises(CompilationError, match=r"depend on w, not among the inputs \(x_0, x_1, x_2\)"):
        compile_function("f", [x], {"y": ca.SX.sym("w") * x})
    with pytest.raises(ArgumentError, match="chunk is -1"):
        compile_function("f", [x], {"y": x}, chunk=-1)
    native = compile_function("f", [x], {"y": x})
    for wrong in ([1.0, 2.0], [[1.0, 2.0, 3.0]], 1.0):
        with pytest.raises(ArgumentError, match=r"expected \(3,\)"):
            native(wrong)


def square(factor=2.0, **options):
    x = ca.SX.sym("x")
    return compile_function("square", [x], {"y": factor * x * x}, **options)


def test_second_compilation_comes_from_the_cache(cache_directory, monkeypatch):
    before = cache_info()
    first = square()
    monkeypatch.setattr(compiler, "emit", None)  # nothing is emitted on a hit
    second = square()
    assert (first.from_cache, second.from_cache) == (False, True)
    assert (second.n_instructions, second.chunks) == (first.n_instructions, first.chunks)
    assert first([3.0]) == second([3.0]) == 18.0
    after = cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 1)
    assert (after.directory, after.entries) == (cache_directory, 1)
    assert clear_cache() == 1
    assert cache_info().entries == 0
    assert second([3.0]) == 18.0


def test_key_depends_on_content_options_and_machine(monkeypatch):
    square()
    assert not square(np.nextafter(2.0, 3.0)).from_cache
    assert not square(chunk=1).from_cache
    assert square().from_cache
    for level in "0123":
        monkeypatch.setenv("SARRUS_OPTIMIZATION", level)
        assert square().from_cache == (level == str(compiler.OPTIMIZATION))
        assert square()([3.0]) == 18.0
    monkeypatch.setenv("SARRUS_OPTIMIZATION", "fast")
    with pytest.raises(ArgumentError, match="SARRUS_OPTIMIZATION is 'fast', must be 0, 1, 2 or 3"):
        square()
    monkeypatch.delenv("SARRUS_OPTIMIZATION")
    machine = compiler.single_target()
    monkeypatch.setattr(
        compiler, "single_target", lambda: replace(machine, features=machine.features + ",+other")
    )
    assert not square().from_cache


def test_key_depends_on_all_modules_that_make_the_code():
    known = {module.__name__ for module in generator.MODULES}
    for name in known:
        tree = ast.parse(Path(sys.modules[name].__file__).read_text(encoding="utf-8"))
        for node in (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)):
            used = {node.module, *(f"{node.module}.{part.name}" for part in node.names)} & set(sys.modules)
            assert {m for m in used if m.startswith("sarrus.")} <= known | {
                "sarrus.codegen",
                "sarrus.codegen.exact",
                "sarrus.base.errors",
            }
    assert {compiler.emit.__module__, compiler.build_object.__module__, read_program.__module__} <= known


def test_entries_are_private_to_the_user(cache_directory):
    square()
    assert len(list(cache_directory.glob("*.sarrus"))) == 1
    assert len(list(cache_directory.iterdir())) == 2  # with the secret
    for path in cache_directory.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert cache_directory.stat().st_mode & 0o777 == 0o700


def other_entry(data, path):
    square(5.0)
    (other,) = (entry for entry in path.parent.glob("*.sarrus") if entry != path)
    return other.read_bytes()


def sound_entry_of_bad_code(data, path):
    cache.store(path.stem, cache.Entry(b"\x7fELF nonsense", 3, 1))
    return path.read_bytes()


DAMAGE = {
    "flipped byte": lambda data, path: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    "flipped digest": lambda data, path: bytes([data[0] ^ 1]) + data[1:],
    "truncated": lambda data, path: data[: len(data) // 2],
    "seal only": lambda data, path: data[:32],
    "header only": lambda data, path: data[: data.index(b"}") + 1],
    "empty": lambda data, path: b"",
    "text": lambda data, path: b"hello",
    "not utf-8": lambda data, path: b"\xff\xfe\n" + data,
    "other json": lambda data, path: b"[1, 2]\n" + data,
    "older format": lambda data, path: data.replace(b'"format": 2', b'"format": 1', 1),
    "other program": other_entry,
    "not machine code": sound_entry_of_bad_code,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_and_foreign_entries_are_built_again(cache_directory, damage):
    square()
    (path,) = cache_directory.glob("*.sarrus")
    path.write_bytes(damage(path.read_bytes(), path))
    again = square()
    assert not again.from_cache
    assert again([3.0]) == 18.0
    assert square().from_cache


def test_unwritable_directory_falls_back_to_a_temporary_one(tmp_path, monkeypatch):
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(occupied / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert square()([1.0]) == 2.0
    assert square().from_cache
    assert cache_info().directory.parent == tmp_path
    monkeypatch.setattr(tempfile, "tempdir", str(occupied))
    with pytest.warns(CacheWarning, match="compiled code is not kept: .*Not a directory"):
        assert square()([1.0]) == 2.0
    assert not square().from_cache
    assert cache_info().directory is None
    assert clear_cache() == 0


def test_default_directory_is_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("SARRUS_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.directory() == tmp_path / "xdg" / "sarrus"
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache.directory() == tmp_path / "Library" / "Caches" / "sarrus"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.directory() == tmp_path / "local" / "sarrus" / "cache"


def start(script, **environment):
    """Start a Python process that can import this package."""
    paths = [str(Path(sarrus.codegen.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def release(processes):
    """Wait until all processes say that they are ready, then let them go on."""
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()


def result_of(process):
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


COMPILE = """
import json, sys
import casadi as ca
from sarrus.codegen import compile_function
x = ca.SX.sym("x", 4)
y = x
for k in range(200):
    y = ca.sin(y) + ca.vertcat(y[1:], y[0]) / (k + 1)
print("ready", flush=True)
sys.stdin.readline()
native = compile_function("f", [x], {"y": y})
print(json.dumps({"value": list(native([1, 2, 3, 4])), "from_cache": native.from_cache}))
"""


def test_two_processes_compile_the_same_model_at_the_same_time(tmp_path, cache_directory):
    script = tmp_path / "compile.py"
    script.write_text(COMPILE)
    together = [start(script), start(script)]
    release(together)
    first, second = (result_of(process) for process in together)
    later = start(script)
    release([later])
    third = result_of(later)
    assert first["value"] == second["value"] == third["value"]
    assert third["from_cache"]
    assert len(list(cache_directory.glob("*.sarrus"))) == 1
    assert len(list(cache_directory.iterdir())) == 2  # with the secret


def test_threads_compile_at_the_same_time():
    factors = [1.0, 2.0, 3.0, 4.0] * 3
    with ThreadPoolExecutor(4) as pool:
        natives = list(pool.map(square, factors))
    assert [native([3.0])[0] for native in natives] == [9 * factor for factor in factors]


def test_code_lives_as_long_as_its_function():
    kept, dropped = square(), square(3.0)
    del dropped
    gc.collect()
    again = square(3.0)
    assert (kept([1.0])[0], again([1.0])[0]) == (2.0, 3.0)


@compiled
def accumulate(address: int, x: Floats, out: Floats, n: int) -> float:
    total = 0.0
    for k in range(n):
        x[1] = k
        call_native(address, x + 1, out + 1)
        total += out[1] + out[2]
    return total


def test_compiled_code_calls_by_address_for_any_model():
    q = ca.SX.sym("q", 2)
    code = accumulate.code
    for factor in (3.0, 5.0):
        native = compile_function("f", [q], {"a": factor * q[0], "b": q[0] * q[1]})
        x, out = np.array([7.0, 0.0, 2.0]), np.full(4, -1.0)
        assert accumulate(native.address, x, out, 5) == (factor + 2) * 10
        assert list(out) == [-1.0, 4 * factor, 8.0, -1.0]
        assert accumulate.code is code


def test_calls_by_address_refuse_other_arguments():
    def integers(address: int, x: Integers, out: Floats) -> None:
        call_native(address, x, out)

    def real(address: float, x: Floats, out: Floats) -> None:
        call_native(address, x, out)

    for function in (integers, real):
        with pytest.raises(TypeError, match="call_native: needs an address and two pointers to real numbers"):
            function_text(function)
