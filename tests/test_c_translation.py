"""From Python to C: statements of kernels, and the operations of traced expressions."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest
from scipy.special import erfinv

from c_code import STRICT, compiler
from sarrus.codegen.c_source import EXPRESSIONS, INVERSE_ERF, c_number, emit_c
from sarrus.codegen.compiler import compile_function, trace_program
from sarrus.codegen.operations import IDENTITIES, OPERATION_NAMES
from sarrus.codegen.operations import OPERATIONS as NATIVE
from sarrus.export.c.functions import HELPERS, Kernels
from sarrus.export.c.identifiers import comment, identifier, macros
from sarrus.export.c.values import DOUBLE, INT, Term, View
from sarrus.kernels.contact import state_forces
from sarrus.kernels.integrate import single_step
from sarrus.kernels.laws import hierarchy, hierarchy_in_cones
from sarrus.kernels.solve import forward

SPECIAL = np.array([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.7, 1e5, 1e-300, -1e300, np.inf, -np.inf, np.nan])


def library(source: str, folder: Path, *flags: str) -> ctypes.CDLL:
    """Compile C source that has to be free of warnings."""
    file = folder / "code.c"
    file.write_text(f"#include <math.h>\n{source}")
    made = folder / "code.so"
    command = [
        compiler(),
        *STRICT,
        "-Wno-unused-function",
        *flags,
        "-fPIC",
        "-shared",
        "-o",
        made,
        file,
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    return ctypes.CDLL(str(made))


# --- statements of kernels ------------------------------------------------------------------------------------


class Pair(NamedTuple):
    first: int
    second: float


def pair(n, x):
    return Pair(n + 1, 2.0 * x)


def counted(s, n):
    """Loops that change their bound, go down, skip, stop; a while loop."""
    total, end = 0.0, n
    for i in range(end):
        end = 1
        if s[i] < 0.0:
            continue
        total += s[i]
    for i in range(n - 1, -1, -1):
        total = total * 0.5 + i
    for i in range(0, n, 2):
        if total > 1e3:
            break
        total += i * s[i] ** 2
    k = 0
    while k < n and s[k] != 7.0:
        k += 1
    while True:
        k -= 1
        if k < -3:
            break
    return total + k


def swapped(s, n):
    """Assignments of several targets, chains of comparisons, both kinds of choice."""
    s[0], s[1] = s[1], s[0]
    a, b = 1, 2.0
    a, b = a + 2, b * a
    s[2] = s[3] = s[0] - s[1]
    one, two = pair(n, b)
    both = pair(a, s[4])
    if 0 < one <= n + 1 < 100 and not (s[0] > s[1] or n == 0):
        s[5] = max(s[0], s[1], two) - min(a, n)
    elif n > 2:
        s[5] = -1.0
    else:
        s[5] = np.inf
    s[6] = both.first // 2 + (a - 7) % 4 + both.second if np.isfinite(s[5]) else 1.0
    return a / n + abs(s[0]) + (-n) // 4


def reused(s, n):
    """One name for an integer in a loop and for a number in another."""
    for i in range(n):
        value = i * 2
        s[value % n] += 1.0
    for i in range(n):
        value = s[i] * 1.5
        s[i] = value
    return np.sqrt(s[n - 1] * s[n - 1])


def numbered(s, n):
    """A variable that is an integer first and takes a fraction later, and several returns."""
    best = 0
    for i in range(n):
        best = max(best, s[i])
    if best > 100.0:
        return 1
    for a in (s[0], s[1]):
        best += a
    return best


@pytest.mark.parametrize("function", [counted, swapped, reused, numbered])
def test_statements_do_what_python_does(tmp_path, function: Any) -> None:
    kernels = Kernels("nothing")
    arguments = [View("s", DOUBLE), Term("n", INT)]
    name, kind = kernels.call(function, arguments)
    used, functions = kernels.reached(name)
    text = [HELPERS[helper] for helper in HELPERS if helper in used]
    text += [
        f"{tag} {{ {' '.join(f'{kind} {member};' for member, kind in struct.members)} }};"
        for struct, tag in kernels.structs.items()
    ]
    text += [f"{part.head}\n{{\n{part.body}\n}}" for part in functions]
    text.append(f"double run(double *s, int n);\ndouble run(double *s, int n) {{ return {name}(s, n); }}\n")
    run = library("\n".join(text), tmp_path).run
    run.restype = ctypes.c_double
    assert kind == DOUBLE
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 7):
        mine = np.round(10.0 * rng.standard_normal(8), 3)
        mine[rng.integers(8)] = 7.0
        theirs = mine.tolist()
        got = run(mine.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), n)
        assert got == pytest.approx(float(function(theirs, n)), rel=1e-15)
        np.testing.assert_allclose(mine, theirs, rtol=1e-15)


def read_late(s, n):
    for i in range(n):
        s[i] = 1.0
    return s[i]


def with_list(s, n):
    return [s[0], s[n]]


@pytest.mark.parametrize(
    ("function", "reason"), [(read_late, "read after its loop"), (with_list, "no form in C")]
)
def test_what_c_would_do_otherwise_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        Kernels("nothing").call(function, [View("s", DOUBLE), Term("n", INT)])


def test_the_kernels_that_are_exported_are_those_that_run() -> None:
    """No second source: the functions that are translated are those of the library."""
    from sarrus.export.c import entry_points as entries
    from sarrus.export.c import forward_dynamics_entry, law_entry, state_plan

    assert forward_dynamics_entry.answer_at is forward.answer_at
    assert state_plan.contact_forces is state_forces.contact_forces
    assert entries.one is single_step
    assert law_entry.hierarchy is hierarchy.hierarchy
    assert law_entry.hierarchy_in_cones is hierarchy_in_cones.hierarchy_in_cones


# --- expressions ----------------------------------------------------------------------------------------------

OPERATIONS = sorted(set(NATIVE) | (IDENTITIES - {ca.OP_PRINTME}))


@pytest.mark.parametrize("chunk", [1000, 7])
def test_operations_have_the_values_of_native_code(tmp_path, chunk: int) -> None:
    """Special numbers included, in one function and split over many."""
    assert set(EXPRESSIONS) == set(NATIVE)
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    outputs = {OPERATION_NAMES[op]: ca.SX.binary(op, x, y) for op in OPERATIONS}
    program, count, _ = trace_program("operations", [x, y], outputs)
    assert count == 2
    source = INVERSE_ERF + emit_c(program, "f", chunk)
    source += "\nvoid run(const double *in, double *out);\nvoid run(const double *in, double *out) { f(in, out); }\n"
    run = library(source, tmp_path, "-fno-builtin").run
    native = compile_function("operations", [x, y], outputs)
    points = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1).T
    points = np.vstack([points, np.random.default_rng(0).normal(size=(50, 2))])
    places = list(outputs)
    for point in points:
        got = np.empty(len(places))
        run(point.ctypes.data_as(ctypes.c_void_p), got.ctypes.data_as(ctypes.c_void_p))
        expected = native(point)
        expected[places.index("OP_ERFINV")] = erfinv(point[0])
        np.testing.assert_allclose(got, expected, rtol=3e-15, atol=1e-300, err_msg=f"{point} {places}")


def test_numbers_are_the_same_bit_for_bit(tmp_path) -> None:
    values = [0.1, -0.1, 1e-310, 5e-324, 1e300, np.pi, -0.0, 3.0, np.inf, -np.inf]
    text = ", ".join(c_number(value) for value in values)
    source = f"void run(double *out);\nvoid run(double *out) {{ double x[] = {{{text}}}; int i; "
    source += f"for (i = 0; i < {len(values)}; i++) out[i] = x[i]; }}\n"
    got = np.empty(len(values))
    library(source, tmp_path).run(got.ctypes.data_as(ctypes.c_void_p))
    assert got.tobytes() == np.array(values).tobytes()
    assert c_number(float("nan")) == "NAN"


def test_names() -> None:
    assert [identifier(name) for name in ("five_bar", "a  b-c", "7x", "", "été")] == [
        "five_bar", "a_b_c", "model_7x", "model", "t",
    ]  # fmt: skip
    assert len(set(macros("P", ["a b", "a-b", "A_B", "ß", "é"]))) == 5
    assert comment("a */ b /* c ??/ \\\n d") == "a * / b / * c ../ / d"
