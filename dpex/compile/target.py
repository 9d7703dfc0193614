"""The device as a target of numba: its contexts, registries, options and call convention."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, Callable

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types, typing
from numba.core.base import BaseContext
from numba.core.codegen import Codegen, CodeLibrary
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaTypeError
from numba.core.imputils import Registry, builtin_registry
from numba.core.options import TargetOptions, include_default_options
from numba.core.target_extension import GPU, target_registry
from numba.core.typing import cmathdecl, enumdecl, mathdecl
from numba.core.typing.templates import Registry as TypingRegistry

from ..extension import is_of_library
from ..language import array_operators, integer_types
from . import closures, compile_errors, numba_fixes
from .failures import CallConvention
from .spirv_calls import SPIR_FUNC
from .types import device_models

TARGET = "dpex"
"""The target's name, as ``numba.extending.overload(target=)`` takes it."""

TRIPLE = "spirv64-unknown-unknown"

registry = Registry(TARGET)
"""Implementations for the device."""

overrides = Registry(f"{TARGET} instead of numba")
"""Implementations for the device in place of numba's for the same types."""

typing_registry = TypingRegistry()
"""Types of what only the device has."""

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
numba_fixes.install()
closures.install()


def new_machine() -> Any:
    """Return a target machine for one module.

    LLVM's SPIR-V back end keeps types of the last module of a machine, and crashes on a second module.
    """
    return llvm.Target.from_triple(TRIPLE).create_target_machine(opt=2)


_LAYOUT = str(new_machine().target_data)


class Device(GPU):  # type: ignore[misc]
    """The hardware of the target, in numba's registry of targets."""


target_registry[TARGET] = Device


class Library(CodeLibrary):  # type: ignore[misc]
    """The LLVM module of a compiled function, and the libraries of the functions that it calls.

    Attributes:
        symbol: The name of the function, if no other function in any process has it; else empty.
        modules: The modules of llvmlite's builder.
        callees: The libraries of the functions that this one calls.
    """

    def __init__(self, codegen: Any, name: str):
        super().__init__(codegen, name)
        self.symbol = ""
        self.modules: list[Any] = []
        self.callees: list[Library] = []
        self._text: str | None = None

    @classmethod
    def of_text(cls, codegen: Any, symbol: str, text: str) -> Library:
        """Return the library of a function whose LLVM code is known."""
        library = cls(codegen, symbol)
        library.symbol, library._text = symbol, text
        return library

    def absorb(self, text: str) -> None:
        """Replace the code by code that has the callees without a symbol in it."""
        self._text, self.callees = text, [each for each in self.whole() if each.symbol and each is not self]

    def add_ir_module(self, module: Any) -> None:
        """Add a module of llvmlite's builder."""
        self.modules.append(module)

    def add_linking_library(self, library: Library) -> None:
        """Add the library of a function that this one calls."""
        if library not in self.callees:
            self.callees.append(library)

    def finalize(self) -> None:
        """Accept no more modules."""
        self._finalized = True

    def get_function(self, name: str) -> Any:
        """Return a function of this library."""
        return next(found for module in self.modules for found in module.functions if found.name == name)

    def get_llvm_str(self) -> str:
        """Return the code of this library alone."""
        if self._text is None:
            self._text = "\n".join(map(str, self.modules))
        return self._text

    def get_asm_str(self) -> str:
        """Return nothing: SPIR-V is made of whole kernels only."""
        return ""

    def whole(self) -> list[Library]:
        """Return this library and all that it needs, each once; a symbol stands for the same code in all libraries."""
        found: dict[Any, Library] = {}
        left = [self]
        while left:
            library = left.pop()
            if (key := library.symbol or id(library)) not in found:
                found[key] = library
                left += library.callees
        return list(found.values())


class _Codegen(Codegen):  # type: ignore[misc]
    _library_class = Library

    def __init__(self) -> None:
        self._target_data = llvm.create_target_data(_LAYOUT)

    def _create_empty_module(self, name: str) -> Any:
        module = ir.Module(name)
        module.triple, module.data_layout = TRIPLE, _LAYOUT
        return module

    def _add_module(self, module: Any) -> None:
        pass

    def insert_unresolved_ref(self, _builder: Any, _type: Any, name: str) -> Any:
        """Refuse a call of a function in itself.

        Raises:
            NumbaTypeError: Always.
        """
        raise NumbaTypeError("functions of kernels cannot call themselves: devices have no stack; write a loop")


class _Growing:
    """A context that looks into a registry only where that has grown: numba asks tens of times for each function."""

    _parts: tuple[str, ...]
    """The lists of a registry."""

    def __init__(self, *given: Any) -> None:
        self._sizes: dict[Any, list[int]] = {}
        super().__init__(*given)

    def install_registry(self, registry: Any) -> None:
        """Add what is new in a registry."""
        sizes = [len(getattr(registry, part)) for part in self._parts]
        if self._sizes.get(registry) != sizes:
            super().install_registry(registry)  # type: ignore[misc]
            self._sizes[registry] = sizes


class TypingContext(_Growing, typing.BaseContext):  # type: ignore[misc]
    """Types of what kernels may use.

    Attributes:
        constants: Functions that return the type of a global which only the device has, and ``None`` for other values.
        rules: For operators and built-in functions, what returns the signature for the types of arguments, before numba
            is asked, or ``None``.
    """

    _parts = "functions", "attributes", "globals"

    def init(self) -> None:
        """Prepare the lists of functions."""
        self.constants: list[Callable[[Any], Any]] = []
        self.rules: dict[Any, Callable[[Any], Any]] = {}

    def load_additional_registries(self) -> None:
        """Add enumerations, mathematics and the device's own functions."""
        numbas = enumdecl.registry, mathdecl.registry, cmathdecl.registry, array_operators.registry
        for each in (typing_registry, *numbas):
            self.install_registry(each)

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of a global; a function that is compiled for the host, by ``njit``, is one for the device.

        Raises:
            NumbaTypeError: It is a function of Python that kernels do not have.
        """
        for type_of in self.constants:
            kind = type_of(value)
            if kind is not None:
                return kind
        if isinstance(value, Dispatcher) and value.targetdescr is not target:
            value = self.device_function(value)
        compile_errors.refuse_function(value)
        return super().resolve_value_type(value)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call, by a rule if there is one for these types."""
        rule = self.rules.get(getattr(func, "typing_key", func)) if self.rules and not kws else None
        made = rule(tuple(args)) if rule else None
        if made is None:
            return super().resolve_function_type(func, args, kws)
        if isinstance(func, types.Function):
            func._impl_keys[made.args] = func.typing_key
        return made

    def unify_pairs(self, first: Any, second: Any) -> Any:
        """Return the type of a variable that has values of two types; integers keep their values."""
        try:
            return integer_types.unified(first, second) or super().unify_pairs(first, second)
        except integer_types.NoTypeError:
            if len(self.callstack) and is_of_library(self.callstack[0].typeinfer.func_ir):
                return types.int64
            raise

    def device_function(self, function: Dispatcher) -> Dispatcher:
        """Return the device function of a function for the host; ``dpex.compile.dispatcher`` replaces this method."""
        raise NotImplementedError


@cache
def _registries_of_numba() -> tuple[Registry, ...]:
    """Return numba's registries of implementations, after all that adds to the one of built-in functions."""
    from numba.cpython import (  # noqa: F401
        builtins,
        cmathimpl,
        enumimpl,
        iterators,
        mathimpl,
        numbers,
        rangeobj,
        slicing,
        tupleobj,
    )
    from numba.np import arrayobj, npyimpl  # noqa: F401

    return mathimpl.registry, cmathimpl.registry, npyimpl.registry, builtin_registry


class TargetContext(_Growing, BaseContext):  # type: ignore[misc]
    """Lowers typed code to LLVM for the device.

    Attributes:
        checks_bounds: Whether indices of arrays are checked: the option ``boundscheck`` and `dpex.language.indexing`.
    """

    allow_dynamic_globals = True
    strict_alignment = True
    checks_bounds = False
    _parts = "functions", "getattrs", "setattrs", "casts", "constants"

    def __init__(self, typing_context: Any, target: str = TARGET):
        super().__init__(typing_context, target)

    def init(self) -> None:
        """Set up the code generator and the data models."""
        self._codegen = _Codegen()
        self.data_model_manager = device_models()

    def load_additional_registries(self) -> None:
        """Add numba's implementations that hold for any target, then the device's own."""
        # numba adds intrinsics to the first registry; of equal signatures, the last holds.
        for each in (registry, *_registries_of_numba(), overrides):
            self.install_registry(each)

    @property
    def enable_boundscheck(self) -> bool:
        """Return False: numba's implementations check nothing, since the indices that they get are checked."""
        return False

    @enable_boundscheck.setter
    def enable_boundscheck(self, value: bool) -> None:
        self.checks_bounds = value

    def build_list(self, *_arguments: Any) -> Any:
        """Refuse: a list, set or dictionary needs memory that kernels do not have.

        Raises:
            NumbaTypeError: Always.
        """
        raise NumbaTypeError("kernels have no lists, sets and dictionaries; a tuple or a PrivateArray may serve")

    build_set = build_map = build_list

    def codegen(self) -> Any:
        """Return the code generator."""
        return self._codegen

    @property
    def target_data(self) -> Any:
        """Return the data layout."""
        return self._codegen._target_data

    @cached_property
    def call_conv(self) -> Any:
        """Return the call convention."""
        return CallConvention(self)

    def create_module(self, name: str) -> Any:
        """Return an empty module."""
        return self._codegen._create_empty_module(name)

    def declare_function(self, module: Any, fndesc: Any) -> Any:
        """Declare a compiled function."""
        function = super().declare_function(module, fndesc)
        function.calling_convention = SPIR_FUNC
        return function

    def get_executable(self, *_arguments: Any) -> Any:
        """Refuse: device code does not run in this process.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("device code does not run in this process; launch it by call_kernel")


_DefaultOptions = include_default_options(
    "boundscheck", "fastmath", "error_model", "inline", "forceinline", "debug", "nopython", "no_cpython_wrapper",
    "no_cfunc_wrapper",
)  # fmt: skip


class Options(_DefaultOptions, TargetOptions):  # type: ignore[misc, valid-type]
    """The options of kernels and device functions."""

    def finalize(self, flags: Any, options: dict[str, Any]) -> None:
        """Set the flags of numba that hold for all device code."""
        flags.enable_pyobject = flags.enable_looplift = flags.nrt = False
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        flags.error_model = "numpy"


class Target(TargetDescriptor):  # type: ignore[misc]
    """The device for dispatchers of numba."""

    options = Options
    typing_context = TypingContext()
    target_context: Any = None


Target.target_context = TargetContext(Target.typing_context)
target = Target(TARGET)
