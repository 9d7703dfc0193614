"""The device as a target of numba: its contexts, registries, options and call convention."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, Callable

from numba.core import types, typing
from numba.core.base import BaseContext
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaTypeError
from numba.core.imputils import Registry, builtin_registry
from numba.core.options import TargetOptions, include_default_options
from numba.core.target_extension import GPU, target_registry
from numba.core.typing import cmathdecl, enumdecl, mathdecl
from numba.core.typing.templates import Registry as TypingRegistry

from ..extension import is_of_library
from ..language import integer_types
from . import closures, compile_errors, numba_fixes
from .codegen import DeviceCodegen
from .failures import CallConvention
from .spirv_calls import SPIR_FUNC
from .types import device_models

TARGET = "dpex"
"""The target's name, the argument of ``numba.extending.overload(target=)``."""

registry = Registry(TARGET)
"""Implementations for the device."""

overrides = Registry(f"{TARGET} instead of numba")
"""Implementations for the device that replace those of numba for the same types."""

typing_registry = TypingRegistry()
"""Types of functions and attributes that only the device has."""

numba_fixes.install()
closures.install()


class SpirvDevice(GPU):  # type: ignore[misc]
    """The class of the target in numba's registry of targets."""


target_registry[TARGET] = SpirvDevice


class _Growing:
    """A context that installs a registry only if it has grown; numba calls this tens of times for each function."""

    _parts: tuple[str, ...]
    """The names of a registry's lists."""

    def __init__(self, *given: Any) -> None:
        self._sizes: dict[Any, list[int]] = {}
        super().__init__(*given)

    def install_registry(self, registry: Any) -> None:
        """Add the new entries of a registry."""
        sizes = [len(getattr(registry, part)) for part in self._parts]
        if self._sizes.get(registry) != sizes:
            super().install_registry(registry)  # type: ignore[misc]
            self._sizes[registry] = sizes


class TypingContext(_Growing, typing.BaseContext):  # type: ignore[misc]
    """The typing context of the device: types of the values and functions that kernels may use.

    Attributes:
        constants: Functions that return the type of a global which only the device has, and ``None`` for other values.
        rules: By operator or built-in function, a function that returns the signature for a tuple of argument types,
            or ``None`` to use numba's.
    """

    _parts = "functions", "attributes", "globals"

    def init(self) -> None:
        """Set the lists of functions to empty ones."""
        self.constants: list[Callable[[Any], Any]] = []
        self.rules: dict[Any, Callable[[Any], Any]] = {}

    def load_additional_registries(self) -> None:
        """Install numba's typing of enumerations and mathematics, and that of the device's own functions."""
        numbas = enumdecl.registry, mathdecl.registry, cmathdecl.registry, numba_fixes.numpy_registry
        for each in (typing_registry, *numbas):
            self.install_registry(each)

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of ``value``, a global; a function decorated by ``njit`` is converted to one for the device.

        Raises:
            NumbaTypeError: It is a built-in function that kernels do not have.
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
        """Return the signature of a call of ``func``: that of a rule if there is one for these types, else numba's."""
        rule = self.rules.get(getattr(func, "typing_key", func)) if self.rules and not kws else None
        made = rule(tuple(args)) if rule else None
        if made is None:
            return super().resolve_function_type(func, args, kws)
        if isinstance(func, types.Function):
            func._impl_keys[made.args] = func.typing_key
        return made

    def unify_pairs(self, first: Any, second: Any) -> Any:
        """Return the type of a variable that has values of two types; integer types are unified without loss.

        Without such a type, it is int64 in functions of the extension; in others `NoTypeError` is raised.
        """
        try:
            return integer_types.unified(first, second) or super().unify_pairs(first, second)
        except integer_types.NoTypeError:
            if len(self.callstack) and is_of_library(self.callstack[0].typeinfer.func_ir):
                return types.int64
            raise

    def device_function(self, function: Dispatcher) -> Dispatcher:
        """Return the dispatcher for the device of one for the host; ``dpex.compile.dispatcher`` sets this method."""
        raise NotImplementedError


@cache
def _registries_of_numba() -> tuple[Registry, ...]:
    """Return numba's registries of implementations, after the import of all modules that add to them."""
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
        self._codegen = DeviceCodegen()
        self.data_model_manager = device_models()

    def load_additional_registries(self) -> None:
        """Install numba's implementations that are independent of the target, and those of the device."""
        # numba adds intrinsics to the first registry; of equal signatures, the last holds.
        for each in (registry, *_registries_of_numba(), overrides):
            self.install_registry(each)

    @property
    def enable_boundscheck(self) -> bool:
        """False, so that numba's implementations do not check indices, which are checked before they are called."""
        return False

    @enable_boundscheck.setter
    def enable_boundscheck(self, value: bool) -> None:
        self.checks_bounds = value

    def build_list(self, *_arguments: Any) -> Any:
        """Raise an error: a list, set or dictionary needs memory that kernels do not have.

        Raises:
            NumbaTypeError: Always.
        """
        raise NumbaTypeError("kernels have no lists, sets and dictionaries; a tuple or a PrivateArray may serve")

    build_set = build_map = build_list

    def codegen(self) -> Any:
        """Return the code generator, a `DeviceCodegen`."""
        return self._codegen

    @property
    def target_data(self) -> Any:
        """The LLVM data layout."""
        return self._codegen._target_data

    @cached_property
    def call_conv(self) -> Any:
        """The call convention."""
        return CallConvention(self)

    def create_module(self, name: str) -> Any:
        """Return an empty LLVM module for the device."""
        return self._codegen._create_empty_module(name)

    def declare_function(self, module: Any, fndesc: Any) -> Any:
        """Declare a compiled function, by its descriptor ``fndesc``, in a module; return the declaration."""
        function = super().declare_function(module, fndesc)
        function.calling_convention = SPIR_FUNC
        return function

    def get_executable(self, *_arguments: Any) -> Any:
        """Raise an error: device code does not run in this process.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("device code does not run in this process; launch it by call_kernel")


_DefaultOptions = include_default_options(
    "boundscheck", "fastmath", "error_model", "inline", "forceinline", "debug", "nopython", "no_cpython_wrapper",
    "no_cfunc_wrapper",
)  # fmt: skip


class DeviceOptions(_DefaultOptions, TargetOptions):  # type: ignore[misc, valid-type]
    """The options of numba that kernels and device functions accept, and the flags of all device code."""

    def finalize(self, flags: Any, options: dict[str, Any]) -> None:
        """Set the numba flags of all device code, whatever the options."""
        flags.enable_pyobject = flags.enable_looplift = flags.nrt = False
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        flags.error_model = "numpy"


class DeviceTarget(TargetDescriptor):  # type: ignore[misc]
    """numba's descriptor of the SPIR-V target: its options, typing context and target context."""

    options = DeviceOptions
    typing_context = TypingContext()
    target_context: Any = None


DeviceTarget.target_context = TargetContext(DeviceTarget.typing_context)
target = DeviceTarget(TARGET)
