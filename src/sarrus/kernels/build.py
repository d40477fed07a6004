"""From the Python source of a kernel to object code, by Numba: ``python -m sarrus.kernels.build MODULE NAME``."""

from __future__ import annotations

import importlib
import sys

import llvmlite.binding as llvm
from numba import types
from numba.core.compiler_lock import global_compiler_lock

from sarrus.codegen.emit import ENTRY
from sarrus.codegen.machine import build_object
from sarrus.kernels.c_function import Kernel
from sarrus.kernels.flat import internal

SIGNATURE = types.int64(types.CPointer(types.int64), types.CPointer(types.float64), types.int64)
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


def build(module: str, name: str) -> bytes:
    """Return the object code of the function ``name`` of a module of this package, under the name `ENTRY`."""
    function = getattr(importlib.import_module(f"sarrus.kernels.{module}"), name)
    kernel = internal(function)
    kernel.compile(SIGNATURE)
    compiled = kernel.overloads[SIGNATURE.args]
    with global_compiler_lock:
        compiled.library.finalize()
    symbol = compiled.fndesc.llvm_func_name
    text = compiled.library.get_llvm_str() + _WRAPPER.format(entry=ENTRY, name=symbol, raised=RAISED)
    return build_object(_only_entry(text), 2)


def _only_entry(text: str) -> str:
    """Return the module with everything that its entry does not need taken out."""
    module = llvm.parse_assembly(text)
    for function in module.functions:
        if not function.is_declaration and function.name != ENTRY:
            function.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    target = llvm.Target.from_default_triple().create_target_machine()
    passes.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    return str(module)


if __name__ == "__main__":
    Kernel(*sys.argv[1:3]).store()
