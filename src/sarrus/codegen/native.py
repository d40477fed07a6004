"""`NativeFunction`: compiled expressions, with their address and layout, callable from Python."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.errors import ArgumentError
from sarrus.codegen.addresses import beginning
from sarrus.codegen.machine import LoadedCode

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

Layout = dict[str, tuple[slice, tuple[int, int]]]


@dataclass(eq=False, repr=False)
class NativeFunction:
    """Machine code ``void f(const double *in, double *out)`` for expressions; made by `compile_function`.

    The code is valid while this object lives: a user of `address` must keep the object. It has no state, so threads may
    call it at the same time. ``in`` and ``out`` must not overlap.

    Attributes
    ----------
    name : str
    code : LoadedCode
        The machine code.
    address : int
        Address of the function.
    n_in, n_out : int
        Numbers of inputs (all input columns in order) and of outputs.
    outputs : dict of str to (slice, shape)
        Slice of each output in the output vector: dense and row by row, so that
        ``out[slice].reshape(shape)`` is the matrix.
    n_instructions : int
        Scalar instructions of the program, inputs, constants and outputs included.
    chunks : int
        Number of functions into which the code was split; 1 is a single function.
    lanes : int
        Number of input sets per call: ``in`` holds ``lanes`` numbers for each input, ``out`` for each output.
    from_cache : bool
        Whether the code came from the disk cache.
    compile_seconds : float
        Time to compile or to load the code [s].
    """

    name: str
    code: LoadedCode
    n_in: int
    outputs: Layout
    n_instructions: int
    chunks: int
    lanes: int
    from_cache: bool
    compile_seconds: float

    def __post_init__(self) -> None:
        self.address = self.code.address
        self.n_out = max((place.stop for place, _ in self.outputs.values()), default=0)
        self.call = SIGNATURE(self.address)

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the output vector (n_out,) at the input vector ``x`` (n_in,).

        With several lanes: (n_out, lanes) at ``x`` (n_in, lanes).

        Raises
        ------
        ArgumentError
            ``x`` is not a vector of n_in numbers.
        """
        values = np.ascontiguousarray(x, dtype=np.float64)
        wide = () if self.lanes == 1 else (self.lanes,)
        if values.shape != (self.n_in, *wide):
            raise ArgumentError(
                f"{self.name}: the input has shape {values.shape}, expected {(self.n_in, *wide)}",
                element=self.name,
            )
        out = np.empty((self.n_out, *wide))
        self.call(beginning(values), beginning(out))
        return out

    def each(self, xs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs (k, n_out) at every row of ``xs`` (k, n_in), for a function of one lane.

        Raises
        ------
        ArgumentError
            ``xs`` has other rows than n_in numbers, or the function has several lanes.
        """
        values = np.ascontiguousarray(xs, dtype=np.float64)
        if self.lanes != 1 or values.ndim != 2 or values.shape[1] != self.n_in:
            raise ArgumentError(
                f"{self.name}: the rows have shape {values.shape}, expected (k, {self.n_in}) for one lane",
                element=self.name,
            )
        out = np.empty((len(values), self.n_out))
        source, target = values.ctypes.data, out.ctypes.data
        for k in range(len(values)):
            self.call(source + k * values.strides[0], target + k * out.strides[0])
        return out

    def evaluate(self, x: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Return the matrices at the input vector ``x`` (n_in,), by name."""
        return self.parts(self(x))

    def evaluate_each(self, xs: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the matrices at every row of ``xs`` (k, n_in), by name, with k in front; see `each`."""
        out = self.each(xs)
        return {
            name: out[:, place].reshape(len(out), *shape) for name, (place, shape) in self.outputs.items()
        }

    def parts(self, out: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the matrices in an output vector (n_out,), by name."""
        return {name: out[place].reshape(shape) for name, (place, shape) in self.outputs.items()}

    def __repr__(self) -> str:
        return (
            f"<NativeFunction {self.name}: {self.n_in} inputs, {self.n_out} outputs, "
            f"{self.n_instructions} instructions>"
        )
