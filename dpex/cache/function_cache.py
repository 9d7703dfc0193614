"""The cache on disk of the extension's device functions, which all processes of a user share.

A kernel that calls the extension is compiled together with tens of device functions. They depend on the types of the
arguments and on the options of the job, but not on the kernel, so a new kernel loads them. Each file holds one function
with all that it calls.
"""

from __future__ import annotations

import abc
import itertools
import logging
import pickle
import zlib
from typing import Any, Callable

from numba.core import typing
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult, Flags, compile_result
from numba.core.funcdesc import PythonFunctionDescriptor

from ..extension import Origin, installed
from . import key as keys, store

log = logging.getLogger(__package__)


class FunctionCache(abc.ABC):
    """The cache of device functions; subclasses implement the parts that differ between compilers."""

    @abc.abstractmethod
    def code(self, result: CompileResult, key: str) -> Any:
        """Return the code of a compile result and its callees, to be pickled; ``key`` is its key in the cache."""

    @abc.abstractmethod
    def library(self, target_context: Any, name: str, code: Any) -> Any:
        """Return the numba code library, named ``name``, for code that `code` returned, possibly in another process."""

    def result(self, compiler: Any, arguments: tuple[Any, ...], compile: Callable[[], CompileResult]) -> CompileResult:
        """Return the compile result of a function: from the cache, or that of ``compile``, which is then stored.

        It is not stored if there is no cache, or if the function has no key in it.

        Args:
            compiler: numba's compiler of the function.
            arguments: The types of its arguments.
            compile: Compiles the function for these types.
        """
        origin = installed().origin(compiler.py_func) if store.functions else None
        key = _key(origin, arguments, _flags(compiler)) if origin else None
        if store.functions is None or origin is None or key is None:
            return compile()
        stored = store.functions.get(key)
        if stored is not None:
            return self._loaded(compiler, arguments, key, pickle.loads(zlib.decompress(stored)))
        log.debug("device function %s is compiled", origin.name)
        result = _numbered(_number(key), compile)
        value = result.signature.return_type, result.fndesc.mangled_name, self.code(result, key)
        store.functions.put(key, zlib.compress(pickle.dumps(value), 1))
        return result

    def _loaded(self, compiler: Any, arguments: tuple[Any, ...], key: str, stored: tuple[Any, ...]) -> CompileResult:
        """Return the compile result for a cache entry: return type, symbol and code. It has no intermediate forms."""
        return_type, symbol, code = stored
        target, function, number = compiler.targetdescr, compiler.py_func, _number(key)
        name = f"{function.__qualname__}${number}"
        descriptor = PythonFunctionDescriptor(
            True, function.__module__, name, name, "", {}, return_type, {}, tuple(compiler.pysig.parameters), (),
            mangler=lambda *_names, **_tags: symbol, argtypes=arguments, uid=number,
        )  # fmt: skip
        return compile_result(
            typing_context=target.typing_context,
            target_context=target.target_context,
            signature=typing.signature(return_type, *arguments),
            fndesc=descriptor,
            library=self.library(target.target_context, name, code),
            objectmode=False,
        )


def _key(origin: Origin, arguments: tuple[Any, ...], flags: Flags) -> str | None:
    try:
        types = _types(origin, arguments)
        extension = installed()
        key_parts = keys.key_parts(), extension.sources, extension.key_parts(())
    except keys.NoKeyError as reason:
        log.debug("device function %s is not cached: %s", origin.name, reason)
        return None
    return keys.digest([origin.name, types, repr(flags), *key_parts])


def _types(origin: Origin, arguments: tuple[Any, ...]) -> list[Any]:
    named = [(name, keys.described(each)) for name, each in sorted(origin.named.items())]
    return [[*map(keys.described, origin.arguments)], named, [*map(keys.described, arguments)]]


def _flags(compiler: Any) -> Flags:
    flags = Flags()
    compiler.targetdescr.options.parse_as_flags(flags, compiler.targetoptions)
    return flags


def _number(key: str) -> int:
    """Return a function's number for numba from its key; it has 19 digits, so numba's own counter does not reach it."""
    return 10**18 + int(key, 16) % 10**18


def _numbered(number: int, compile: Callable[[], CompileResult]) -> CompileResult:
    """Return the result of ``compile``, where numba numbers the function ``number``, the same in all processes.

    numba's own numbers count the functions of a process, so functions of two processes could have one name.
    """
    counted = FunctionIdentity._unique_ids
    FunctionIdentity._unique_ids = itertools.chain([number], counted)
    try:
        return compile()
    finally:
        FunctionIdentity._unique_ids = counted
