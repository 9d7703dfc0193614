"""Device functions on disk: a device function of ishmem that any process has compiled before is loaded.

A kernel that calls ishmem is compiled together with tens of device functions. They depend on the types of the arguments
and on the options of the job, but not on the kernel, so a new kernel loads them as LLVM bitcode. Each file holds one
function with all that it calls.
"""

from __future__ import annotations

import itertools
import logging
import pickle
import re
from typing import Any

from llvmlite import binding as llvm
from numba.core import typing
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult, Flags, compile_result
from numba.core.funcdesc import PythonFunctionDescriptor
from numba_dpex.kernel_api_impl.spirv.dispatcher import _SPIRVKernelCompiler

from ishmem.dpex import stores
from ishmem.dpex.cache_key import NoKeyError
from ishmem.dpex.extension import installed

from .cache_key import function_key

_IDENTIFIED = re.compile(r"_24\d{19}")
"""How numba encodes ``$`` and the number of a function, if `_number` has made it."""

log = logging.getLogger("ishmem")

_compile = _SPIRVKernelCompiler._compile_core


def install() -> None:
    """Replace the method that compiles a device function: numba has caches for functions of the host only."""
    _SPIRVKernelCompiler._compile_core = _compile_or_load


def _compile_or_load(compiler: Any, arguments: tuple[Any, ...], return_type: Any) -> CompileResult:
    store = stores.functions
    origin = None if store is None else installed().origin(compiler.py_func)
    if store is None or origin is None:
        return _compile(compiler, arguments, return_type)
    try:
        key = function_key(origin, arguments, _flags(compiler))
    except NoKeyError as reason:
        log.debug("device function %s is not cached: %s", origin.name, reason)
        return _compile(compiler, arguments, return_type)
    value = store.get(key)
    if value is not None:
        return _unpacked(compiler, arguments, key, value)
    log.debug("device function %s is compiled", origin.name)
    result = _compile_as(_number(key), compiler, arguments)
    store.put(key, _packed(result, key))
    return result


def _flags(compiler: Any) -> Flags:
    flags = Flags()
    compiler.targetdescr.options.parse_as_flags(flags, compiler.targetoptions)
    return flags


def _number(key: str) -> int:
    """Return the number of a function, with 19 digits: more than numba counts to."""
    return 10**18 + int(key, 16) % 10**18


def _compile_as(number: int, compiler: Any, arguments: tuple[Any, ...]) -> CompileResult:
    """Compile a function under a number that is the same in all processes.

    Otherwise numba counts the functions of a process, and functions of two processes could have one name.
    """
    counted = FunctionIdentity._unique_ids
    FunctionIdentity._unique_ids = itertools.chain([number], counted)
    try:
        return _compile(compiler, arguments, None)
    finally:
        FunctionIdentity._unique_ids = counted


def _packed(result: CompileResult, key: str) -> bytes:
    """Return the return type, symbol and bitcode; a name that the code defines has one meaning in all processes."""
    module = llvm.parse_bitcode(result.library._get_module_for_linking().as_bitcode())
    for function in module.functions:
        if not function.is_declaration and not _IDENTIFIED.search(function.name):
            function.name = f"{function.name}_{key}"
    return pickle.dumps((result.signature.return_type, result.fndesc.mangled_name, module.as_bitcode()))


def _unpacked(compiler: Any, arguments: tuple[Any, ...], key: str, value: bytes) -> CompileResult:
    """Return what compiling the function would return, without its intermediate forms."""
    return_type, symbol, code = pickle.loads(value)
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
        library=target.target_context.codegen().unserialize_library((name, "bitcode", code)),
        objectmode=False,
    )
