"""From the Python source of a kernel to LLVM text, by Numba."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from sarrus.codegen.machine import ENTRY
from sarrus.kernels.memory.record import Record, pointee
from sarrus.kernels.platform.numba_forms import RecordType, dispatcher, pointer_to

# What a kernel returns that Numba ended with an exception; none does.
RAISED = -99

# Numba's own calling convention hands out the result and the exception by pointers and returns a status.
_WRAPPER = """
define i64 @{entry}(ptr %table, ptr %x, i64 %what) {{
  %result = alloca i64
  %exception = alloca ptr
  %status = call i32 @"{name}"(ptr %result, ptr %exception, ptr %table, ptr %x, i64 %what)
  %raised = icmp ne i32 %status, 0
  %value = load i64, ptr %result
  %answer = select i1 %raised, i64 {raised}, i64 %value
  ret i64 %answer
}}
"""


class _PlainLibrary(JITCodeLibrary):
    """Text to be linked: Numba would optimise it and make machine code of it at every level of the calls.

    Numba's public way to LLVM's text is that of a function that has been made machine code of.
    """

    def _optimize_functions(self, module: Any) -> None:
        pass

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return zero: nothing here can be called."""
        return 0


@contextmanager
def _text_only() -> Iterator[None]:
    """Have Numba stop at LLVM's text."""
    codegen = cpu_target.target_context.codegen()
    usual = codegen._library_class  # noqa: SLF001  Numba has no public way
    codegen._library_class, codegen.set_env = _PlainLibrary, lambda name, environment: None  # noqa: SLF001  Numba has no public way
    try:
        yield
    finally:
        codegen._library_class = usual  # noqa: SLF001  Numba has no public way
        del codegen.set_env


def _arguments(function: Any) -> list[types.Type]:
    """Return Numba's types for the annotations of a kernel: a record or integers, floats, an integer."""
    known: list[types.Type] = []
    for kind in inspect.get_annotations(function, eval_str=True).values():
        if isinstance(kind, type) and issubclass(kind, Record):
            known.append(RecordType(kind))
        else:
            known.append(types.int64 if pointee(kind) is None else pointer_to(pointee(kind)))
    return known[:-1]  # without what is returned


def kernel_text(module: str, name: str) -> str:
    """Return the LLVM text of the function ``name`` of a module of this package, under the name `ENTRY`.

    It has not been optimised, and does not depend on the processor. What is text already is returned as it is.
    """
    function = getattr(importlib.import_module(f"sarrus.kernels.{module}"), name)
    if isinstance(function, str):
        return function
    kernel, signature = dispatcher(function), types.int64(*_arguments(function))
    with _text_only(), global_compiler_lock:
        kernel.compile(signature)
        compiled = kernel.overloads[signature.args]
        compiled.library.finalize()
    symbol = compiled.fndesc.llvm_func_name
    text = _portable(compiled.library.get_llvm_str())
    return text + _WRAPPER.format(entry=ENTRY, name=symbol, raised=RAISED)


def _portable(text: str) -> str:
    """Leave out what LLVM says of functions of its own: it knows that, and older versions do not know all the words."""
    text = re.sub(r"^(declare .*?) #\d+$", r"\1", text, flags=re.MULTILINE)
    code = re.sub(r"^attributes .*$", "", text, flags=re.MULTILINE)
    used = set(re.findall(r" #(\d+)", code))
    groups = re.compile(r"^attributes #(\d+) = .*$", re.MULTILINE)
    return groups.sub(lambda group: group[0] if group[1] in used else "", text)
