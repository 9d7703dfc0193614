"""The cache keys of compiled kernels and device functions: a hash of everything that the code depends on.

The key of a kernel covers the bytecode of the kernel and of the device functions it calls, the values of the names they
use, the argument types, options, device, settings, and the versions of the compiler packages. A library function is
identified by its name and the library's version. A kernel that depends on anything else has no key and is not cached.
The key of a device function of ishmem has the number under which it is registered, and the sources of ishmem.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import hashlib
import importlib.metadata
import platform
import sys
import types as python
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpctl
import numba.core.config
import numba_dpex.core.config
import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba_dpex.core.pipelines.kernel_compiler import KernelCompiler
from numba_dpex.core.types import USMNdArray
from numba_dpex.core.types.dpnp_ndarray_type import DpnpNdArray
from numba_dpex.core.types.kernel_api.index_space_ids import GroupType, ItemType, NdItemType
from numba_dpex.core.types.kernel_api.local_accessor import LocalAccessorType
from numba_dpex.kernel_api_impl.spirv.dispatcher import SPIRVKernelDispatcher

import ishmem
from ishmem import _core
from ishmem.teams import Team

from . import binding
from .intrinsics import Origin, registered

LIBRARIES = {"builtins", "math", "cmath", "operator", "numpy", "numba", "numba_dpex", "dpctl", "dpnp", "ishmem"}
PACKAGES = ("numba", "numba-dpex", "llvmlite", "numpy", "dpctl", "dpnp", "dpcpp-llvm-spirv")
ARRAYS = (USMNdArray, DpnpNdArray, LocalAccessorType)
NUMBERS = (types.Integer, types.Float, types.Complex, types.Boolean)
NOT_CODE = ("THREAD", "CACHE", "CUDA", "COLOR")  # words in names of numba's settings that do not affect kernels
SKIPPED = {"EXTENDED_ARG", "CACHE", "PRECALL"}


class NoKeyError(Exception):
    """A kernel depends on something that cannot be hashed reliably."""


def key(kernel: SPIRVKernelDispatcher, arguments: tuple[Any, ...]) -> str:
    """Return the key of a kernel for arguments of these types.

    Raises:
        NoKeyError: The kernel has no key; the message gives the reason.
    """
    if numba_dpex.core.config.DUMP_KERNEL_LLVM or numba_dpex.core.config.SAVE_IR_FILES:
        raise NoKeyError("numba-dpex is set to dump the code it generates, which needs a compilation")
    walk = _Walk()
    parts = [walk.dispatcher(kernel), _arguments(arguments), _surroundings(), _settings(), SOURCES]
    if walk.uses_ishmem:
        parts.append(_job())
        parts += walk.lines if _checks() else []
    return _digest(parts)


def function_key(origin: Origin, arguments: tuple[Any, ...], flags: Any) -> str:
    """Return the key of an implementation of a device function of ishmem for arguments of these types.

    Raises:
        NoKeyError: There is no key; the message gives the reason.
    """
    chosen = [_type(argument) for argument in origin.arguments]
    named = sorted((name, _type(argument)) for name, argument in origin.named.items())
    compiled = [_type(argument) for argument in arguments]
    return _digest([origin.name, chosen, named, compiled, repr(flags), _surroundings(), _settings(), SOURCES, _job()])


def _digest(parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


class _Walk:
    """One pass over a kernel and everything it refers to; a description is a nested tuple of plain values."""

    def __init__(self) -> None:
        self.uses_ishmem = False
        self.lines: list[tuple[Any, ...]] = []
        self._open: list[Any] = []

    def dispatcher(self, kernel: SPIRVKernelDispatcher) -> tuple[Any, ...]:
        compiler = kernel._compiler
        options = sorted(kernel.targetoptions.items())
        if compiler.locals or compiler.pipeline_class is not KernelCompiler or kernel.targetoptions.get("debug"):
            raise NoKeyError(f"{kernel.__name__} is compiled with options that the key does not cover")
        if any(kernel is other for other in self._open):
            raise NoKeyError(f"{kernel.__name__} calls itself")
        self._open.append(kernel)
        description = (
            self._function(kernel.py_func),
            tuple((name, self._value(name, value)) for name, value in options),
        )
        self._open.pop()
        return description

    def _function(self, function: Any) -> tuple[Any, ...]:
        code = function.__code__
        self.lines.append(_lines(code))
        defaults = (function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items())))
        return (
            function.__qualname__,
            code.co_code,
            getattr(code, "co_exceptiontable", b""),
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_nlocals, code.co_flags),
            (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
            tuple(self._value("a constant", value) for value in code.co_consts),
            self._value("defaults", defaults),
            tuple((name, self._value(name, value)) for name, value in _referenced(function)),
        )

    def _value(self, name: str, value: Any) -> tuple[Any, ...]:
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes):
            return kind.__name__, repr(value)
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return "numpy", value.dtype.str, value.tobytes()
        if kind is np.dtype and not value.hasobject:
            return "dtype", repr(value)
        if isinstance(value, enum.Enum):
            return "enum", tuple(map(str, kind.__mro__)), value.name, self._value(name, value.value)
        if kind is Team:
            self.uses_ishmem = True
            return "team", value.handle
        if kind is tuple:
            return "tuple", tuple(self._value(name, item) for item in value)
        if isinstance(value, types.Number) or value is types.boolean:
            return "type", str(value)
        if kind is SPIRVKernelDispatcher:
            return "device_func", _unchanged(value, self.dispatcher(value))
        return "library", self._library(name, value)

    def _library(self, name: str, value: Any) -> str:
        """Return the qualified name of an object that a library exports under that name."""
        if isinstance(value, _core.Traced):
            value = value.__traced__
        module = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
        path = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))
        root = module.split(".")[0]
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        ours = isinstance(value, python.FunctionType) and value in registered
        if found is not value or not (root in LIBRARIES or ours):
            raise NoKeyError(f"{name} is a {type(value).__name__}, which cannot be hashed")
        self.uses_ishmem |= ours or root == "ishmem"
        return f"{module}.{path}"


def _referenced(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each global or closure variable that a function reads; ``module.name`` is one name."""
    code = function.__code__
    scope = {**vars(builtins), **function.__globals__}
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    steps = [step for step in dis.get_instructions(code) if step.opname not in SKIPPED]
    for at, step in enumerate(steps):
        name = step.argval
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            if name not in scope:
                raise NoKeyError(f"{name} is not defined")
            value = scope[name]
        elif step.opname in ("LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF") and name in cells:
            value = cells[name].cell_contents
        else:
            continue
        for after in steps[at + 1 :]:
            if after.opname not in ("LOAD_ATTR", "LOAD_METHOD") or not isinstance(value, (python.ModuleType, type)):
                break
            if not hasattr(value, after.argval):
                raise NoKeyError(f"{name}.{after.argval} is not defined")
            value, name = getattr(value, after.argval), f"{name}.{after.argval}"
        yield name, value


def _checks() -> bool:
    bound = binding.bound()
    return bound is not None and bound[0].check


def _lines(code: Any) -> tuple[Any, ...]:
    """Return where a function stands, which kernels with checks name."""
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    return Path(code.co_filename).name, code.co_firstlineno, table


_compiled: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def _unchanged(function: SPIRVKernelDispatcher, description: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the description of a device function; raise if it has changed since numba compiled it.

    numba compiles a device function once per signature, with the values its variables had at that time.
    """
    digest = _digest(description)
    if not function.overloads:
        _compiled[function] = digest
    elif _compiled.get(function) != digest:
        _compiled[function] = "changed"
        raise NoKeyError(f"{function.__name__} was compiled earlier, possibly with other values of its variables")
    return description


def _arguments(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    queues: list[Any] = []  # the key says which arrays share a queue: numba-dpex rejects arrays of several queues
    return tuple(_argument(argument, queues) for argument in arguments)


def _argument(argument: Any, queues: list[Any]) -> tuple[Any, ...]:
    kind = type(argument)
    if kind in ARRAYS and isinstance(argument.dtype, NUMBERS):
        if argument.queue not in queues:
            queues.append(argument.queue)
        facts = (argument.ndim, argument.layout, argument.mutable, argument.aligned, argument.usm_type)
        place = (argument.addrspace, queues.index(argument.queue), _device(argument.device))
        return kind.__name__, str(argument.dtype), *facts, *place
    if kind in (ItemType, NdItemType):
        return kind.__name__, argument.ndim
    if kind in NUMBERS:
        return "number", str(argument)
    raise NoKeyError(f"an argument has type {argument}, which the key does not cover")


def _type(argument: Any) -> tuple[Any, ...]:
    """Describe the type of an argument of a device function."""
    if isinstance(argument, types.Omitted):
        argument = argument.value
    if argument is None or type(argument) in (bool, int, float):
        return "omitted", repr(argument)
    if isinstance(argument, types.BaseTuple):
        parts = tuple(_type(part) for part in argument)
        named = getattr(argument, "instance_class", tuple)
        return named.__module__, named.__qualname__, parts
    if isinstance(argument, (types.IntegerLiteral, types.BooleanLiteral)):
        return "literal", repr(argument.literal_value)
    if argument is types.none or isinstance(argument, GroupType):
        return type(argument).__name__, str(argument)
    return _argument(argument, [])


@functools.cache
def _device(name: str) -> tuple[str, ...]:
    device = dpctl.SyclDevice(name)
    aspects = (device.has_aspect_atomic64, device.has_aspect_fp16, device.has_aspect_fp64)
    return str(device.backend), device.name, device.vendor, device.driver_version, str(aspects)


@functools.cache
def _surroundings() -> tuple[Any, ...]:
    versions = tuple(importlib.metadata.version(package) for package in PACKAGES)
    return sys.version, platform.machine(), versions


def _settings() -> tuple[Any, ...]:
    """Return the settings of numba and numba-dpex; they can change during a process, so they are read each time."""
    found = {**vars(numba.core.config), **vars(numba_dpex.core.config)}
    plain = ((name, str(value)) for name, value in found.items() if isinstance(value, (bool, int, float, str)))
    return tuple(sorted(item for item in plain if item[0].isupper() and not any(word in item[0] for word in NOT_CODE)))


def _job() -> str:
    try:
        return repr(binding.options())
    except TypingError as error:
        raise NoKeyError(str(error)) from None


def _sources() -> str:
    """Hash the sources of device code; called at import, because files can be edited while the process runs."""
    package = Path(ishmem.__file__).parent
    folders = (package, package / "common", Path(__file__).parent)
    files = sorted(path for folder in folders for path in folder.glob("*.py"))
    return _digest([(path.name, path.read_bytes()) for path in files])


SOURCES = _sources()
