"""LLVM: from the text of a module to object code, and from object code to an address."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from threading import RLock

import llvmlite
import llvmlite.binding as llvm

from sarrus.base.errors import CompilationError

ENTRY = "sarrus_entry"  # the name of the function that object code is made for
# Functions of the C library that the machine code may call: those that are exact, and what intrinsics become
# on processors that have no instruction for them. Code that calls any other does not link.
LIBM_SYMBOLS = ("ceil", "copysign", "fabs", "floor", "fma", "fmod", "memset", "remainder", "sqrt")
LOCK = RLock()
# Largest cost of a call that is replaced by the code it calls. LLVM's own 225 doubles the code of the time loop and
# triples the time to compile it, 100 makes all kernels 18 % longer to compile, for nothing that can be measured.
INLINING = 50
# What a kernel that Python calls directly needs, see `sarrus.kernels.platform.python_call`.
_PYTHON = ("PyLong_AsVoidPtr", "PyLong_FromLongLong")
_counter = count()


# What code that is shipped may use, by the architecture of a triple; elsewhere LLVM's generic processor.
BASELINES = {"x86_64": "x86-64-v3"}
_FEATURES = {
    "x86-64-v3": (
        *(
            "avx",
            "avx2",
            "bmi",
            "bmi2",
            "cmov",
            "cx16",
            "cx8",
            "f16c",
            "fma",
            "fxsr",
            "lzcnt",
            "mmx",
            "movbe",
        ),
        *("popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave"),
    )
}


@dataclass(frozen=True)
class Host:
    """The machine that the code is made for."""

    triple: str
    cpu: str
    features: str

    @property
    def platform(self) -> str:
        """Architecture and system: what object code is tied to, whatever the version of the system."""
        return f"{self.triple.partition('-')[0]}-{sys.platform}"

    def runs(self, other: Host) -> bool:
        """Tell whether code for another processor is to be used where code is made for this one.

        Where ``SARRUS_CPU`` names a processor, only code for that is.
        """
        if self.cpu == other.cpu and self.features == other.features:
            return True
        has = set(self.features.split(","))
        return not os.environ.get("SARRUS_CPU") and all(
            f"+{name}" in has for name in _FEATURES.get(other.cpu, ())
        )

    @property
    def identity(self) -> str:
        """All that object code depends on besides the program: machine and compiler."""
        version = ".".join(str(part) for part in llvm.llvm_version_info)
        return "\n".join([self.triple, self.cpu, self.features, llvmlite.__version__, version])


@lru_cache(maxsize=1)
def host() -> Host:
    """Start LLVM and describe the machine that code is made for: this one, or what ``SARRUS_CPU`` names.

    The variable holds a processor as LLVM names it, such as ``x86-64-v3``, and may go on with features, such as
    ``x86-64,+avx``. It is read once. Results do not depend on it, only speed does; whoever names a processor with
    instructions that this one lacks ends the process.
    """
    cpu, _, features = os.environ.get("SARRUS_CPU", "").partition(",")
    with LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        # On Windows the loader of machine code reads ELF objects only.
        suffix = "-elf" if os.name == "nt" else ""
        return Host(
            triple=llvm.get_process_triple() + suffix,
            cpu=cpu or llvm.get_host_cpu_name(),
            features=features if cpu else llvm.get_host_cpu_features().flatten(),
        )


@lru_cache(maxsize=1)
def baseline() -> Host:
    """Return the processor that shipped code is made for on this kind of machine."""
    triple = host().triple
    return Host(triple, BASELINES.get(triple.partition("-")[0], "generic"), "")


def single_target() -> Host:
    """Return the processor that code for one state is made for: the baseline where the host has AVX-512, else the host.

    Scalars gain nothing from AVX-512 and their instructions are longer: a step of many loops takes a quarter more time.
    """
    wide = not os.environ.get("SARRUS_CPU") and "+avx512f" in host().features.split(",")
    return baseline() if wide and host().runs(baseline()) else host()


def _c_library() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    if sys.platform.startswith("linux"):
        with suppress(OSError):  # other C libraries have no libm of their own
            return ctypes.CDLL("libm.so.6")
    return ctypes.CDLL(None)


@lru_cache(maxsize=1)
def _symbols() -> dict[str, int]:
    """Addresses of the functions of the C library and of Python that the code may call."""
    library = _c_library()
    addresses: dict[str, int] = {}
    for name in LIBM_SYMBOLS:
        function = getattr(library, name, None)
        if function is None:
            raise CompilationError(f"the C library of this system has no function {name!r}", element=name)
        addresses[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    for name in _PYTHON:
        addresses[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    return addresses


def _target_machine(optimization: int, target: Host | None = None) -> llvm.TargetMachine:
    machine = target or host()
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=optimization, reloc="pic", codemodel="small", jit=True
    )


@lru_cache(maxsize=1)
def _linker() -> llvm.LLJIT:
    # JITLink puts all sections of one object side by side, as the small code model wants them, and reports
    # what it cannot link, where the older linker would abort the process. It is not used on Windows.
    return llvm.create_lljit_compiler(_target_machine(0), use_jit_link=os.name != "nt")


def build_object(
    text: str,
    optimization: int,
    *,
    passes: bool = False,
    packs: bool = False,
    target: Host | None = None,
) -> bytes:
    """Compile the text of a module to object code at the given level (0 to 3) of LLVM's code generator.

    It is for the ``target``, by default for `host`.

    ``passes`` runs LLVM's own pipeline on the text before, with everything but `ENTRY` private to the module; ``packs``
    puts equal operations of straight-line code into vector instructions, with the same bits.
    """
    with LOCK:
        machine = _target_machine(optimization, target)
        try:
            module = llvm.parse_assembly(text, llvm.create_context())
            module.triple = (target or host()).triple
            module.data_layout = str(machine.target_data)
            if passes:
                _optimize(module, machine, packs)
            return machine.emit_object(module)
        except RuntimeError as error:
            raise CompilationError(f"LLVM refused the code: {error}") from error


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, packs: bool) -> None:
    for function in module.functions:
        if not function.is_declaration and function.name != ENTRY:
            function.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.inlining_threshold = True, INLINING
    options.slp_vectorization = packs
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class LoadedCode:
    """Object code in executable memory; the memory lives as long as this object.

    Raises
    ------
    CompilationError
        The code is not object code of this machine, or does not define the function asked for.
    """

    def __init__(self, code: bytes) -> None:
        symbols = _symbols()
        with LOCK:
            library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(ENTRY)
            for name, address in symbols.items():
                library.import_symbol(name, address)
            try:
                self._library = library.link(_linker(), f"sarrus{next(_counter)}")
            except RuntimeError as error:
                raise CompilationError(f"LLVM could not load the code: {error}") from error
        self.address: int = self._library[ENTRY]
