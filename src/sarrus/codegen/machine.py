"""LLVM: from the text of a module to object code, and from object code to an address."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from threading import RLock

import llvmlite
import llvmlite.binding as llvm

from sarrus.codegen.emit import ENTRY
from sarrus.codegen.errors import CompilationError
from sarrus.codegen.operations import LIBM_SYMBOLS, PLATFORM_SYMBOLS

LOCK = RLock()


@dataclass(frozen=True)
class Host:
    """The machine that the code is made for."""

    triple: str
    cpu: str
    features: str

    @property
    def identity(self) -> str:
        """All that object code depends on besides the program: machine and compiler."""
        version = ".".join(str(part) for part in llvm.llvm_version_info)
        return "\n".join([self.triple, self.cpu, self.features, llvmlite.__version__, version])


@lru_cache(maxsize=1)
def host() -> Host:
    """Describe this machine, start LLVM, and make the C library's functions known to it."""
    with LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _register_symbols()
        # On Windows the loader of machine code reads ELF objects only.
        suffix = "-elf" if os.name == "nt" else ""
        return Host(
            triple=llvm.get_process_triple() + suffix,
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
        )


def _register_symbols() -> None:
    """Tell LLVM the addresses of the functions in `LIBM_SYMBOLS`, wherever the process has them."""
    if sys.platform == "win32":
        library = ctypes.CDLL("ucrtbase")
    elif sys.platform == "darwin":
        library = ctypes.CDLL(None)
    else:
        library = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
    for name in LIBM_SYMBOLS + PLATFORM_SYMBOLS:
        function = getattr(library, name, None)
        if function is not None:
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
        elif name in LIBM_SYMBOLS:
            raise CompilationError(f"the C library of this system has no function {name!r}", element=name)


def _target_machine(optimization: int) -> llvm.TargetMachine:
    # Small code model: the memory manager of the engine puts all sections of one object side by side.
    machine = host()
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=optimization, reloc="pic", codemodel="small", jit=True
    )


def build_object(text: str, optimization: int) -> bytes:
    """Compile the text of a module to object code at the given level (0 to 3) of LLVM's code generator."""
    with LOCK:
        try:
            context = llvm.create_context()
            module = llvm.parse_assembly(text, context)
            module.triple = host().triple
            machine = _target_machine(optimization)
            module.data_layout = str(machine.target_data)
            return machine.emit_object(module)
        except RuntimeError as error:
            raise CompilationError(f"LLVM refused the code: {error}") from error


class LoadedCode:
    """Object code in executable memory; the memory lives as long as this object."""

    def __init__(self, code: bytes) -> None:
        with LOCK:
            try:
                module = llvm.parse_assembly("", llvm.create_context())
                module.triple = host().triple
                machine = _target_machine(0)
                module.data_layout = str(machine.target_data)
                self._engine = llvm.create_mcjit_compiler(module, machine, use_lmm=True)
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
                self._engine.finalize_object()
                self.address: int = self._engine.get_function_address(ENTRY)
            except RuntimeError as error:
                raise CompilationError(f"LLVM could not load the code: {error}") from error
        if not self.address:
            raise CompilationError("the object code does not define the function asked for")
