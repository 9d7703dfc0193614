"""The numba dispatcher and compiler of functions for the device."""

from __future__ import annotations

import dis
import functools
import itertools
import weakref
from types import CodeType
from typing import Any, Callable

from numba.core import sigutils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.dispatcher import Dispatcher
from numba.core.errors import ForceLiteralArg
from numba.core.target_extension import dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.typed_passes import (
    IRLegalization,
    NoPythonBackend,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
    NopythonTypeInference,
)
from numba.core.untyped_passes import InlineClosureLikes, ReconstructSSA

from ..language import registrations  # noqa: F401  # its import registers them with numba
from . import compile_errors, keyword_only
from .codegen import LlvmTextCache
from .duplicate_returns import share_ends
from .lowering import DeviceLowering
from .passes import ConstantAttributes, EmptyBlocks
from .target import TARGET, TypingContext, target
from .typeinfer import DeviceTypeInference


class _Passes(PassManager):  # type: ignore[misc]
    """Runs passes without numba's events and timers, which take a tenth of the time, since each formats all flags."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        if isinstance(pss, InlineClosureLikes) and not _has_closures(internal_state.func_id.code):
            return  # it analyses the whole function twice
        pss.analysis = self._analysis
        for step in (pss.run_initialization, pss.run_pass, pss.run_finalizer):
            step(internal_state)


def _has_closures(code: CodeType) -> bool:
    """Return whether code may contain constructs that numba inlines: functions, lists, `functools.reduce`."""
    has_functions = any(isinstance(each, CodeType) for each in code.co_consts)
    has_lists = any(each.opname in ("BUILD_LIST", "LIST_APPEND") for each in dis.get_instructions(code))
    return has_functions or has_lists or "reduce" in code.co_names + code.co_freevars


class _Compiler(CompilerBase):  # type: ignore[misc]
    """numba's compiler pipeline for the device: that for the host, without parallel loops and object mode."""

    def _compile_bytecode(self) -> Any:
        share_ends(self.state)
        return super()._compile_bytecode()

    def define_pipelines(self) -> list[Any]:
        passes = _Passes(TARGET)
        for each, description in DefaultPassBuilder.define_untyped_pipeline(self.state).passes:
            if each is ReconstructSSA:
                passes.add_pass(EmptyBlocks, "jumps through blocks that only jump")
            passes.add_pass(each, description)
        passes.add_pass(ConstantAttributes, "attributes with constant names")
        for each, description in DefaultPassBuilder.define_typed_pipeline(self.state).passes:
            if each is not NopythonRewrites:  # of operations on whole arrays and of strings, which kernels do not have
                passes.add_pass(DeviceTypeInference if each is NopythonTypeInference else each, description)
        passes.add_pass(NoPythonSupportedFeatureValidation, "features that kernels support")
        passes.add_pass(IRLegalization, "forms that the lowering takes")
        passes.add_pass(DeviceLowering, "lower to LLVM")
        passes.add_pass(NoPythonBackend, "collect the result")
        passes.finalize()
        return [passes]


class DeviceDispatcher(Dispatcher):  # type: ignore[misc]
    """numba's dispatcher for the device: compiles a function for each combination of argument types."""

    targetdescr = target

    def __init__(self, py_func: Callable[..., Any], targetoptions: dict[str, Any] | None = None):
        self._given = py_func
        super().__init__(keyword_only.positional(py_func), targetoptions=targetoptions or {}, pipeline_class=_Compiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return numba's call template for arguments of types ``args`` and ``kws``; compile if necessary.

        Raises:
            NumbaError: The call does not fit the function, or the function does not compile.
        """
        if self._given is not self.py_func:
            keyword_only.check_call(self._given, args, self._compiler.fold_argument_types(args, kws)[1])
        return super().get_call_template(args, kws)

    @global_compiler_lock  # type: ignore[untyped-decorator, unused-ignore]
    def compile(self, sig: Any) -> Any:
        """Compile for signature ``sig``, unless this was done; return the key of the result in the target context.

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
        """Return the compile result; if the function needs an argument's value, make numba retry with literal types."""
        compile = functools.partial(self._compiler.compile, arguments, return_type)
        try:
            return _functions.result(self._compiler, arguments, compile)
        except ForceLiteralArg as error:
            folded = self._compiler.fold_argument_types
            raise error.bind_fold_arguments(lambda args, kws: folded(args, kws)[1]) from None
        except Exception as error:
            self._compiler._failed_cache.clear()  # it may compile later, when a variable has another value
            compile_errors.note_code(error, self.py_func.__code__)
            raise

    def add_overload(self, cres: Any) -> None:
        """Add a compile result to ``overloads`` and to the target context, so that other functions can call it."""
        key = f"{cres.fndesc.mangled_name}.{next(_count)}"
        self.overloads[tuple(cres.signature.args)] = cres._replace(entry_point=key)
        self.targetctx.insert_user_function(key, cres.fndesc, [cres.library])


_count = itertools.count()
_functions = LlvmTextCache()

_of_host: weakref.WeakKeyDictionary[Dispatcher, DeviceDispatcher] = weakref.WeakKeyDictionary()


def _of_host_function(_context: Any, function: Dispatcher) -> DeviceDispatcher:
    """Return the dispatcher for the device of a function that a program has decorated by numba's ``njit``."""
    if function not in _of_host:
        _of_host[function] = DeviceDispatcher(function.py_func)
    return _of_host[function]


TypingContext.device_function = _of_host_function  # type: ignore[method-assign, assignment]


def _jit(function: Any = None, **options: Any) -> Any:
    """Return the dispatcher of an implementation that numba has chosen; without a function, a decorator for it."""
    options = {name: value for name, value in options.items() if name not in _OF_HOST}
    return DeviceDispatcher(function, options) if function else lambda chosen: DeviceDispatcher(chosen, options)


_OF_HOST = "_nrt", "locals"
"""Options of numba's own implementations that the device ignores."""


dispatcher_registry[target_registry[TARGET]] = DeviceDispatcher
jit_registry[target_registry[TARGET]] = _jit
