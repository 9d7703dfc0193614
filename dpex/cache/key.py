"""The keys of compiled code in the cache: a hash of everything that the code depends on.

The key of a kernel covers the bytecode of the kernel and of the device functions it calls, the values of the names they
use, the types of the arguments, and what the compiler adds: options, settings and versions. An object of a library is
identified by its name and the library's version. A kernel that depends on anything else has no key.

A kernel in the cache is launched without numba, so nothing here imports it.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import hashlib
import importlib.metadata
import os
import platform
import sys
import types as python
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..extension import Extension, installed
from ..launch.kinds import ArrayKind, ItemKind, LocalKind, TupleKind

LIBRARIES = frozenset({"builtins", "math", "cmath", "operator", "numpy", "numba", "dpctl", "dpnp"})
SKIPPED = {"EXTENDED_ARG", "CACHE", "PRECALL"}
_NOT_CODE = ("THREAD", "CACHE", "CUDA", "COLOR")  # words in names of numba's settings that do not affect kernels
_SETTINGS = {"BOUNDSCHECK": None, "DEBUGINFO_DEFAULT": 0, "EXTEND_VARIABLE_LIFETIMES": 0}
"""Settings of numba that affect kernels and that a program can change, with their defaults."""


class NoKeyError(Exception):
    """A kernel depends on something that cannot be hashed reliably."""


class Language:
    """The parts of keys that differ between compilers of kernels; this class is for the compiler of this package.

    Attributes:
        dispatcher: The class of kernels and device functions.
        package: The package of the compiler; keys contain its objects by name.
        packages: The packages whose versions are in the keys.
    """

    dispatcher: type  # set by the module that defines it
    package = __name__.rpartition(".cache.")[0]
    packages: tuple[str, ...] = ("numba", "llvmlite", "numpy")

    def options(self, function: Any) -> dict[str, Any]:
        """Return the options with which a kernel or device function is compiled.

        Raises:
            NoKeyError: Its compilation depends on more than its options.
        """
        return dict(function.targetoptions)

    def settings(self) -> Any:
        """Return name and value of the numba settings of kernels that the program, not the environment, has changed."""
        config = sys.modules.get("numba.core.config")
        return [
            (name, value)
            for name, default in _SETTINGS.items()
            if (value := getattr(config, name, default)) != default and f"NUMBA_{name}" not in os.environ
        ]

    def arguments(self, kinds: tuple[Any, ...]) -> Any:
        """Return the kinds of a kernel's arguments, which may contain numba types, as plain values.

        Raises:
            NoKeyError: A kind is not covered.
        """
        return tuple(map(_plain, kinds))

    def of_type(self, kind: Any) -> tuple[Any, ...] | None:
        """Return a numba type that this compiler defines, such as an array's, as plain values; ``None`` for others.

        ``kind`` is the type of an argument of a device function.
        """
        from ..compile import types

        name = type(kind).__name__
        if type(kind) in types.ARRAYS and is_number(kind.dtype):
            facts = (kind.ndim, kind.layout, kind.mutable, kind.addrspace, getattr(kind, "extents", ()))
            return name, str(kind.dtype), *facts
        return (name, kind.ndim) if isinstance(kind, types.IndexSpaceType) else None


language = Language()
"""The object for the compiler in use."""


def use(other: Language) -> None:
    """Make keys by ``other``, the `Language` of another compiler, from now on."""
    global language
    language = other


def digest(parts: Any) -> str:
    """Return the SHA-256 hash of plain values, as hexadecimal digits."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def kernel_key(kernel: Any, kinds: tuple[Any, ...]) -> str:
    """Return the key of a kernel for arguments of these kinds.

    Raises:
        NoKeyError: The kernel has no key; the message is the reason.
    """
    extension = installed()
    walk = KeyWalk(extension)
    parts = [walk.dispatcher(kernel), language.arguments(kinds), key_parts(), extension.sources]
    if walk.has_debug:
        parts.append(walk.lines)
    is_watched = extension.watches(kernel.py_func.__code__.co_filename)
    return digest([*parts, extension.key_parts(walk.lines)] if walk.uses_extension or is_watched else parts)


def key_parts() -> tuple[Any, ...]:
    """Return the parts common to all keys: versions, numba's settings, and a hash of this package's sources."""
    return _versions(language.packages), _environment(), language.settings(), _sources()


@functools.cache
def _versions(packages: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the version of Python, the architecture of the host, and the versions of packages."""
    found = tuple(importlib.metadata.version(package) for package in packages)
    return sys.version, platform.machine(), found


def _environment() -> list[tuple[str, str]]:
    """Return the ``NUMBA_`` variables of the environment that may affect kernels, sorted by name."""
    return sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_") and matters(item[0]))


def matters(name: str) -> bool:
    """Return whether the numba setting of a name may affect kernels."""
    return not any(word in name for word in _NOT_CODE)


@functools.cache
def _sources() -> str:
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return digest([(path.name, path.read_bytes()) for path in files])


def _plain(kind: Any) -> Any:
    if isinstance(kind, (str, ItemKind, ArrayKind, LocalKind)):
        return kind
    if isinstance(kind, TupleKind):
        return TupleKind(tuple(map(_plain, kind.parts)))
    return described(kind)


def described(kind: Any) -> tuple[Any, ...]:
    """Return ``kind``, the numba type of an argument or the value of a default, as plain values.

    Raises:
        NoKeyError: The type is not covered.
    """
    from numba.core import types

    if isinstance(kind, types.Omitted):
        kind = kind.value
    if kind is None or type(kind) in (bool, int, float):
        return "omitted", repr(kind)
    if isinstance(kind, types.BaseTuple):
        named = getattr(kind, "instance_class", tuple)
        parts = tuple(map(described, kind))
        return named.__module__, named.__qualname__, getattr(named, "_fields", ()), parts
    if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)):
        return "literal", repr(kind.literal_value)
    if isinstance(kind, types.EnumMember):
        members = tuple((member.name, repr(member.value)) for member in kind.instance_class)
        return "enum", kind.instance_class.__module__, kind.instance_class.__qualname__, str(kind.dtype), members
    if kind is types.none:
        return ("none",)
    if type(kind) in (types.Integer, types.Float, types.Complex, types.Boolean):
        return "number", str(kind)
    found = language.of_type(kind)
    if found is None:
        raise NoKeyError(f"an argument has type {kind}, which the key does not cover")
    return found


class KeyWalk:
    """A traversal of a kernel and everything it refers to; a description is a nested tuple of plain values.

    Attributes:
        extension: The library whose objects it describes by `Extension.described`.
        uses_extension: Whether the kernel refers to an object of the extension.
        has_debug: Whether a function is compiled with the option ``debug``, so that its lines are in the code.
        lines: The file name, first line and line table of each function.
    """

    def __init__(self, extension: Extension) -> None:
        self.extension = extension
        self.uses_extension = self.has_debug = False
        self.lines: list[tuple[Any, ...]] = []
        self._open: list[Any] = []

    def dispatcher(self, kernel: Any) -> tuple[Any, ...]:
        """Return the description of a kernel or device function.

        Raises:
            NoKeyError: It depends on something that the key does not cover.
        """
        if (described := self._of_extension(kernel)) is not None:
            return described
        options = language.options(kernel)
        self.has_debug |= bool(options.get("debug"))
        if any(kernel is other for other in self._open):
            raise NoKeyError(f"{kernel.__name__} calls itself")
        self._open.append(kernel)
        values = tuple((name, self._value(name, value)) for name, value in sorted(options.items()))
        described = self._function(kernel.py_func), values
        self._open.pop()
        return described

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
        if kind is tuple:
            return "tuple", tuple(self._value(name, item) for item in value)
        if kind is slice:
            return "slice", tuple(self._value(name, part) for part in (value.start, value.stop, value.step))
        if is_number(value):
            return "type", str(value)
        if isinstance(value, language.dispatcher):
            return "device_func", _unchanged(value, self.dispatcher(value))
        if (described := self._of_extension(value)) is not None:
            return described
        return "library", self._library(name, value)

    def _of_extension(self, value: Any) -> tuple[Any, ...] | None:
        described = self.extension.described(value)
        self.uses_extension |= described is not None
        return described

    def _library(self, name: str, value: Any) -> str:
        """Return the qualified name of an object that its library exports; raise `NoKeyError` for other objects."""
        value = self.extension.unwrapped(value)
        module = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
        path = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))
        root = module.split(".")[0]
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        is_language = f"{module}.".startswith(f"{language.package}.")
        is_extension = not is_language and root == self.extension.package
        if found is not value or not (root in LIBRARIES or is_language or is_extension):
            raise NoKeyError(f"{name} is a {type(value).__name__}, which cannot be hashed")
        self.uses_extension |= is_extension
        return f"{module}.{path}"


def is_number(value: Any) -> bool:
    """Return whether a value is a number type of numba, boolean included; False if numba is not imported."""
    types = sys.modules.get("numba.core.types")
    return types is not None and (isinstance(value, types.Number) or value is types.boolean)


def _referenced(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each global or closure variable that a function reads; attributes as ``module.name``."""
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


def _lines(code: Any) -> tuple[Any, ...]:
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    return Path(code.co_filename).name, code.co_firstlineno, table


_compiled: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def _unchanged(function: Any, description: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the description of a device function; raise `NoKeyError` if it has changed since numba compiled it.

    numba compiles a device function once per signature, with the values its variables had at that time.
    """
    found = digest(description)
    if not function.overloads:
        _compiled[function] = found
    elif _compiled.get(function) != found:
        _compiled[function] = "changed"
        raise NoKeyError(f"{function.__name__} was compiled earlier, possibly with other values of its variables")
    return description
