"""The decorators of functions that are compiled for the device: `device_func` and `kernel`.

The module does not import numba at its start; a function's numba dispatcher is created when it is compiled.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import inspect
import io
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Callable

from .cache import kernel_cache, key
from .cache.kernel_cache import Code
from .errors import call_refused
from .extension import installed

HINT = "vec_type_hint"
"""The name of the only option of `kernel` that is not passed to numba."""


class DeviceFunction:
    """A function that kernels call.

    It is compiled for each combination of argument types, or only for the signatures passed to the decorator.

    Attributes:
        py_func: The undecorated Python function.
        targetoptions: The options of the decorator, by name.
    """

    def __init__(self, py_func: Callable[..., Any], targetoptions: dict[str, Any] | None = None):
        self.py_func, self.targetoptions = py_func, targetoptions or {}
        functools.update_wrapper(self, py_func)
        self.__name__: str = py_func.__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__}>"

    def __call__(self, *_arguments: Any, **_named: Any) -> Any:
        """Raise an error: only kernels call device functions.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"a device function is called in kernels; {self.__name__}.py_func(...) runs it in Python")

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The numba dispatcher that compiles the function for the device."""
        from .compile.dispatcher import DeviceDispatcher

        installed().load()
        return DeviceDispatcher(self.py_func, {k: v for k, v in self.targetoptions.items() if k != HINT})

    @property
    def _numba_type_(self) -> Any:
        """The numba type of the function in kernels."""
        return self.dispatcher._numba_type_

    @property
    def overloads(self) -> dict[tuple[Any, ...], Any]:
        """The compile results of numba by tuple of argument types; empty before the first compilation."""
        return self.dispatcher.overloads if "dispatcher" in vars(self) else {}

    @property
    def is_specialised(self) -> bool:
        """Whether only the signatures passed to the decorator are compiled."""
        return "dispatcher" in vars(self) and not self.dispatcher._can_compile

    def compile(self, sig: Any) -> Any:
        """Compile for signature ``sig``, unless this was done; return the key of the result in the target context.

        Raises:
            NumbaError: The function does not compile.
            RuntimeError: The function was compiled for given signatures only.
        """
        return self.dispatcher.compile(sig)

    def disable_compile(self) -> None:
        """Disable the compilation for further signatures."""
        self.dispatcher.disable_compile()


key.Language.dispatcher = DeviceFunction


class Kernel(DeviceFunction):
    """A kernel. Other kernels and device functions may call it, too.

    Attributes:
        hint: The option ``vec_type_hint``, or an empty string.
        codes: The compiled or loaded code by tuple of argument kinds.
        parameters: The number of parameters of the function, the item included.
        has_options: Whether there are parameters with defaults or keyword-only ones.
        programs: The SYCL kernels by argument kinds, context and device; `dpex.launch.submission` adds them.
    """

    def __init__(self, py_func: Callable[..., Any], targetoptions: dict[str, Any] | None = None):
        super().__init__(py_func, targetoptions)
        self.hint: str = self.targetoptions.get(HINT, "")
        code = py_func.__code__
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            raise TypeError(f"the kernel {self.__name__} takes *args or **kwargs; name its parameters")
        self.parameters = code.co_argcount + code.co_kwonlyargcount
        self.has_options = bool(py_func.__defaults__ or code.co_kwonlyargcount)
        self.codes: dict[tuple[Any, ...], Code] = {}
        self.programs: dict[Any, Any] = {}
        _kernels.add(self)

    def __call__(self, *_arguments: Any, **_named: Any) -> None:
        """Raise an error: `call_kernel` launches a kernel.

        Raises:
            TypeError: Always.
        """
        raise TypeError(call_refused(self.__name__))

    def compile(self, sig: Any) -> Any:
        """Compile for signature ``sig``, passed to the decorator; return the key of the result in the target context.

        Raises:
            NumbaError: The kernel does not compile.
            KernelHasReturnValueError: The signature has a return type.
            InvalidKernelSpecializationError: An array in the signature is not one of a device.
        """
        from .compile.compilation import without_result

        return super().compile(without_result(self, sig))

    def code_for(self, kinds: tuple[Any, ...]) -> Code:
        """Return the code for arguments of these kinds; the first kind is the item's. Compile it if it is not cached.

        Raises:
            KernelCompileError: The kernel does not compile.
            KernelHasReturnValueError: It returns a value.
            MissingSpecializationError: It was compiled for given signatures only, and not for these types.
            KernelBuildError: LLVM fails.
        """
        with _lock:
            if kinds not in self.codes:
                self.codes[kinds] = kernel_cache.code_of(self, kinds, self._compiled, not self.is_specialised)
            return self.codes[kinds]

    def _compiled(self, kinds: tuple[Any, ...]) -> Code:
        with _without_collections():
            from .compile.compilation import compiled

            code: Code = compiled(self, kinds)
        return code


_lock = threading.RLock()
_kernels: weakref.WeakSet[Kernel] = weakref.WeakSet()


def forget_programs() -> None:
    """Clear ``programs`` of all kernels: the next launch builds them after the extension's new `transform`."""
    for kernel in list(_kernels):
        kernel.programs.clear()


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Return a context manager without garbage collections, which would traverse a compilation's objects many times.

    At its end the objects are moved to the oldest generation, which only a full collection traverses.
    """
    global _has_compiled, _has_frozen
    _has_compiled = True
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _has_frozen = _has_frozen or bool(gc.get_freeze_count())  # it counts one by one: tens of milliseconds
            if not _has_frozen:
                gc.freeze()
                gc.unfreeze()
            gc.enable()


_has_compiled = False
_has_frozen = False
"""Whether the program has called ``gc.freeze`` itself; its objects then stay frozen."""
_WRITTEN = io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper


def _end_without_collections() -> None:
    """Skip the full garbage collections at the exit of a process that has compiled; they take some tenths of a second.

    They would close files in reference cycles, so this flushes all files that are open for writing.
    """
    if not _has_compiled:
        return
    for each in gc.get_objects():
        if issubclass(type(each), _WRITTEN):
            with contextlib.suppress(Exception):
                each.flush()
    gc.freeze()


atexit.register(_end_without_collections)


Signatures = list[Any]

WITHOUT_EFFECT = (
    "release_gil", "no_compile", "no_cpython_wrapper", "no_cfunc_wrapper", "experimental", "inline_threshold",
)  # fmt: skip
"""Options of numba-dpex that this compiler ignores."""


def _split(first: Any) -> tuple[Callable[..., Any] | None, Signatures]:
    """Return the function, or None, and the signatures that are passed as a decorator's first argument."""
    if inspect.isfunction(first) or first is None:
        return first, []
    from numba.core import sigutils

    if isinstance(first, list):
        return None, first
    if sigutils.is_signature(first):
        return None, [first]
    raise ValueError(f"kernel and device_func decorate a function or take signatures, got {first!r}")


def _decorator(make: type[DeviceFunction]) -> Callable[..., Any]:
    """Return a decorator for ``make``: as ``@d``, ``@d(signature)``, ``@d([signatures])`` or ``@d(option=...)``."""

    def decorate(function_or_signature: Any = None, **options: Any) -> Any:
        function, signatures = _split(function_or_signature)
        options = {name: value for name, value in options.items() if name not in WITHOUT_EFFECT}
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


device_func = _decorator(DeviceFunction)
"""Decorate a function that kernels and other device functions call; it may return values.

Args:
    function_or_signature: The function, or a signature or a list of them: then it is compiled for these at once, and
        for no others.
    **options: ``inline``, ``fastmath``, ``error_model``, ``debug``, as numba's ``jit`` takes them. ``boundscheck``
        leaves out accesses to arrays out of bounds: a load gives 0, a store does nothing. ``debug`` keeps the lines of
        the program in the SPIR-V.
"""

kernel = _decorator(Kernel)
"""Decorate a function that `call_kernel` launches; its first argument is an item, and it returns nothing.

Its other parameters may have defaults, and launches may name them.

Args:
    function_or_signature: The function, or a signature or a list of them: then it is compiled for these at once, and
        for no others.
    **options: ``inline``, ``fastmath``, ``error_model``, ``debug``, as numba's ``jit`` takes them. ``boundscheck``
        leaves out accesses to arrays out of bounds: a load gives 0, a store does nothing. ``debug`` keeps the lines of
        the program in the SPIR-V. ``vec_type_hint="int4"`` is OpenCL's: the code of a work-item is written in vectors
        of this type, so that compilers need not make vectors of several work-items.
"""
