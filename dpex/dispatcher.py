"""Functions of a program that are compiled for the device: `kernel` and `device_func`."""

from __future__ import annotations

import inspect
import itertools
import weakref
from typing import Any, Callable

from numba.core import compiler, sigutils, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.dispatcher import Dispatcher
from numba.core.errors import ForceLiteralArg, NumbaError
from numba.core.target_extension import dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NoPythonSupportedFeatureValidation,
    NopythonTypeInference,
)

from .target import TARGET, TypingContext, target
from .type_inference import DeviceTypeInference


class _Compiler(CompilerBase):  # type: ignore[misc]
    """Type inference as numba's for the host, then lowering; no parallel loops, no object mode."""

    def define_pipelines(self) -> list[Any]:
        passes = PassManager(TARGET)
        passes.passes.extend(DefaultPassBuilder.define_untyped_pipeline(self.state).passes)
        for each, description in DefaultPassBuilder.define_typed_pipeline(self.state).passes:
            passes.add_pass(DeviceTypeInference if each is NopythonTypeInference else each, description)
        passes.add_pass(NoPythonSupportedFeatureValidation, "features that kernels support")
        passes.add_pass(IRLegalization, "forms that the lowering takes")
        passes.add_pass(NativeLowering, "lower to LLVM")
        passes.add_pass(NoPythonBackend, "collect the result")
        passes.finalize()
        return [passes]


class DeviceFunction(Dispatcher):  # type: ignore[misc]
    """A function that kernels call.

    It is compiled for each combination of argument types, or for those of given signatures only.
    """

    targetdescr = target

    def __init__(self, py_func: Callable[..., Any], targetoptions: dict[str, Any] | None = None):
        super().__init__(py_func, targetoptions=targetoptions or {}, pipeline_class=_Compiler)

    @global_compiler_lock  # type: ignore[untyped-decorator, unused-ignore]
    def compile(self, sig: Any) -> Any:
        """Compile for a signature, unless it has been; return the key under which the target knows the result.

        Raises:
            NumbaError: The function does not compile.
            RuntimeError: The function was compiled for given signatures only.
        """
        arguments, return_type = sigutils.normalize_signature(sig)
        known = self.overloads.get(tuple(arguments))
        if known is not None:
            return known.entry_point
        if not self._can_compile:
            raise RuntimeError(f"{self.__name__} was compiled for given signatures only, not for {arguments}")
        with target_override(TARGET), self._compiling_counter:
            result = self._compile_core(arguments, return_type)
        self.add_overload(result)
        return self.overloads[tuple(arguments)].entry_point

    def _compile_core(self, arguments: Any, return_type: Any) -> Any:
        """Compile; a function that needs the value of an argument is compiled for literals."""
        try:
            return self._compiler.compile(arguments, return_type)
        except ForceLiteralArg as error:
            folded = self._compiler.fold_argument_types
            raise error.bind_fold_arguments(lambda args, kws: folded(args, kws)[1]) from None
        except NumbaError:
            self._compiler._failed_cache.clear()  # it may compile later, when a variable has another value
            raise

    def add_overload(self, cres: Any) -> None:
        """Make the result of a compilation known to callers."""
        key = f"{cres.fndesc.mangled_name}.{next(_count)}"
        self.overloads[tuple(cres.signature.args)] = cres._replace(entry_point=key)
        self.targetctx.insert_user_function(key, cres.fndesc, [cres.library])


_count = itertools.count()

_of_host: weakref.WeakKeyDictionary[Dispatcher, DeviceFunction] = weakref.WeakKeyDictionary()


def _of_host_function(_context: Any, function: Dispatcher) -> DeviceFunction:
    """Return the device function of a function that a program has compiled for the host, too (``njit``)."""
    if function not in _of_host:
        _of_host[function] = DeviceFunction(function.py_func)
    return _of_host[function]


TypingContext.device_function = _of_host_function

Signatures = list[Any]


def _split(first: Any) -> tuple[Callable[..., Any] | None, Signatures]:
    """Return the function and the signatures that a decorator's first argument stands for."""
    if first is None or isinstance(first, list):
        return None, first or []
    if sigutils.is_signature(first):
        return None, [first]
    if not inspect.isfunction(first):
        raise ValueError(f"kernel and device_func decorate a function or take signatures, got {first!r}")
    return first, []


def decorator(make: Callable[[Callable[..., Any], dict[str, Any]], DeviceFunction]) -> Callable[..., Any]:
    """Return a decorator, used as ``@name``, ``@name(signature)``, ``@name([signatures])`` or ``@name(option=...)``."""

    def decorate(function_or_signature: Any = None, **options: Any) -> Any:
        function, signatures = _split(function_or_signature)
        if any(isinstance(signature, str) for signature in signatures):
            raise NotImplementedError("signatures as strings are not supported; pass types, such as types.void(int64)")

        def wrap(py_func: Callable[..., Any]) -> DeviceFunction:
            made = make(py_func, options)
            for signature in signatures:
                made.compile(signature)
            if signatures:
                made.disable_compile()
            return made

        return wrap(function) if function else wrap

    return decorate


device_func = decorator(DeviceFunction)
"""Decorate a function that kernels and other device functions call; it may return values.

Args:
    function_or_signature: The function, or a signature or a list of them: then it is compiled for these at once, and
        for no others.
    **options: ``inline``, ``fastmath``, ``boundscheck``, ``error_model``, ``debug``, as numba's ``jit`` takes them.
"""

dispatcher_registry[target_registry[TARGET]] = DeviceFunction
jit_registry[target_registry[TARGET]] = device_func


def flags_of(options: dict[str, Any]) -> Any:
    """Return numba's flags for the options of a decorator."""
    flags = compiler.Flags()
    target.options.parse_as_flags(flags, options)
    return flags


def is_void(kind: Any) -> bool:
    """Return whether a function returns nothing."""
    return kind in (types.none, types.void)
