"""From CasADi expressions to a native function."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from time import perf_counter

import casadi as ca

from sarrus.base.errors import ArgumentError, CompilationError
from sarrus.codegen import cache
from sarrus.codegen.emit import emit
from sarrus.codegen.generator import generator_digest
from sarrus.codegen.machine import Host, LoadedCode, build_object, host, single_target
from sarrus.codegen.native import Layout, NativeFunction
from sarrus.codegen.program import Program, read_program

# Measured; see docs/decisions/0001-native-code.md.
CHUNK = 500  # instructions of one chunk
CHUNK_THRESHOLD = 5_000  # instructions above which a function is split in chunks
OPTIMIZATION = 1  # level of LLVM's code generator; no passes run on the IR before
_LEVELS = ("0", "1", "2", "3")


def compile_function(
    name: str,
    inputs: Sequence[ca.SX],
    outputs: Mapping[str, ca.SX],
    *,
    chunk: int | None = None,
    lanes: int = 1,
) -> NativeFunction:
    """Compile expressions to a native function, or fetch it from the disk cache.

    Parameters
    ----------
    name : str
        Name for messages.
    inputs : sequence of SX
        Symbols: columns or scalars, possibly empty.
    outputs : mapping of str to SX
        Expressions of the inputs, of any shape; sparse ones become dense.
    chunk : int, optional
        Number of instructions of one chunk. By default the code is one function up to `CHUNK_THRESHOLD`
        instructions and split into chunks of `CHUNK` above; 0 never splits.
    lanes : int
        Number of input sets per call; number k of input i is at ``in[lanes * i + k]``, outputs likewise.

    Returns
    -------
    NativeFunction

    Raises
    ------
    CompilationError
        An input is no column of symbols, or is repeated, or an output depends on symbols that are not among the inputs.
    UnsupportedOperationError
        An expression has an operation without native code.
    """
    start = perf_counter()
    if chunk is not None and chunk < 0:
        raise ArgumentError(f"{name}: chunk is {chunk}, must be 0 (never split) or a number of instructions")
    column = _join_inputs(name, inputs)
    layout, values = _join_outputs(outputs)
    key = _key(_casadi_function(name, column, values), chunk, lanes)
    found = _fetch(key)
    cache.count(hit=found is not None)
    entry, code = found or _build(name, column, values, chunk, lanes)
    if found is None:
        cache.store(key, entry)
    return NativeFunction(
        name,
        code,
        column.numel(),
        layout,
        n_instructions=entry.n_instructions,
        chunks=entry.chunks,
        lanes=lanes,
        from_cache=found is not None,
        compile_seconds=perf_counter() - start,
    )


def optimization() -> int:
    """Return the level of LLVM's code generator: `OPTIMIZATION`, or what ``SARRUS_OPTIMIZATION`` says.

    Level 0 compiles four to six times faster, and what it makes takes 1.4 to 2.4 times longer. Results are the same to
    the bit.

    Raises
    ------
    ArgumentError
        The variable is set to something else than 0, 1, 2 or 3.
    """
    level = os.environ.get("SARRUS_OPTIMIZATION") or str(OPTIMIZATION)
    if level not in _LEVELS:
        raise ArgumentError(f"SARRUS_OPTIMIZATION is {level!r}, must be 0, 1, 2 or 3", valid=list(_LEVELS))
    return int(level)


def trace_program(
    name: str, inputs: Sequence[ca.SX], outputs: Mapping[str, ca.SX]
) -> tuple[Program, int, Layout]:
    """Return the instructions compiled by `compile_function`, the number of inputs and the layout of the outputs."""
    column = _join_inputs(name, inputs)
    layout, values = _join_outputs(outputs)
    return _program(name, column, values), column.numel(), layout


def _join_inputs(name: str, inputs: Sequence[ca.SX]) -> ca.SX:
    seen: set[int] = set()
    for k, symbols in enumerate(inputs):
        if not isinstance(symbols, ca.SX) or symbols.shape[1] > 1 or not symbols.is_dense():
            raise CompilationError(f"{name}: input {k} must be a dense column of SX symbols, not {symbols!r}")
        if not symbols.is_valid_input():
            raise CompilationError(f"{name}: input {k} must hold symbols only, not the expression {symbols}")
        for symbol in (symbols[i] for i in range(symbols.numel())):
            if symbol.element_hash() in seen:
                raise CompilationError(
                    f"{name}: the symbol {symbol} appears twice in the inputs", element=str(symbol)
                )
            seen.add(symbol.element_hash())
    return ca.vertcat(ca.SX(0, 1), *[symbols for symbols in inputs if symbols.numel()])


def _join_outputs(outputs: Mapping[str, ca.SX]) -> tuple[Layout, ca.SX]:
    layout: Layout = {}
    columns = [ca.SX(0, 1)]
    end = 0
    for key, expression in outputs.items():
        matrix = ca.SX(expression)
        start, end = end, end + matrix.numel()
        layout[key] = (slice(start, end), matrix.shape)
        if matrix.numel():
            columns.append(ca.vec(ca.densify(matrix).T))  # CasADi stores columns, the output vector rows
    return layout, ca.vertcat(*columns)


def _casadi_function(name: str, inputs: ca.SX, outputs: ca.SX) -> ca.Function:
    """Return a function of one column in, one column out; its internal name is fixed: equal content, equal code."""
    function = ca.Function("program", [inputs], [outputs], {"allow_free": True})
    if function.has_free():
        free = function.get_free()
        names = [inputs[i].name() for i in range(inputs.numel())]
        known = ", ".join(names) or "none"
        raise CompilationError(
            f"{name}: the outputs depend on {', '.join(free)}, not among the inputs ({known})",
            element=free[0],
            valid=names,
        )
    return function


def _key(function: ca.Function, chunk: int | None, lanes: int) -> str:
    """Return the hash of the code's origin: program (to the bit), options, compiler, machine."""
    parts = [
        function.serialize(),
        ca.CasadiMeta.version(),
        repr((chunk, lanes, CHUNK, CHUNK_THRESHOLD, optimization(), cache.FORMAT)),
        generator_digest(__file__),
        _target(lanes).identity,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _fetch(key: str) -> tuple[cache.Entry, LoadedCode] | None:
    entry = cache.load(key)
    if entry is None:
        return None
    try:
        return entry, LoadedCode(entry.code)
    except CompilationError:
        cache.discard(key)
        return None


def _build(
    name: str, inputs: ca.SX, outputs: ca.SX, chunk: int | None, lanes: int
) -> tuple[cache.Entry, LoadedCode]:
    program = _program(name, inputs, outputs)
    program = program.angles_first() if lanes == 1 else program
    size = len(program.instructions)
    if chunk is None:
        chunk = CHUNK if size > CHUNK_THRESHOLD else 0
    text, chunks = emit(program, chunk, lanes)
    entry = cache.Entry(build_object(text, optimization(), target=_target(lanes)), size, chunks)
    return entry, LoadedCode(entry.code)


def _target(lanes: int) -> Host:
    return single_target() if lanes == 1 else host()


def _program(name: str, inputs: ca.SX, outputs: ca.SX) -> Program:
    return read_program(_casadi_function(name, inputs, ca.cse(outputs) if outputs.numel() else outputs), name)
