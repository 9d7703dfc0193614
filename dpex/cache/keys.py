"""The keys of kernels in the cache."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

from ..extension import installed
from ..launch.kinds import ArrayKind, ItemKind, LocalKind, TupleKind
from .cache_key import NOT_CODE, NoKeyError, Walk, digest, versions

PACKAGES = ("numba", "llvmlite", "numpy")
_SETTINGS = {"BOUNDSCHECK": None, "DEBUGINFO_DEFAULT": 0, "EXTEND_VARIABLE_LIFETIMES": 0}
"""Settings of numba that affect kernels and that a program can change, with their defaults."""


class Language:
    """What keys depend on: see `dpex.cache.cache_key.Language`."""

    package = __name__.rpartition(".")[0]
    dispatcher: type  # set by the module that defines it

    def options(self, function: Any) -> dict[str, Any]:
        """Return the options with which a kernel or device function is compiled."""
        return dict(function.targetoptions)


LANGUAGE = Language()


def kernel_key(kernel: Any, kinds: tuple[Any, ...]) -> str:
    """Return the key of a kernel for arguments of these kinds.

    Raises:
        NoKeyError: The kernel has no key; the message gives the reason.
    """
    extension = installed()
    walk = Walk(LANGUAGE, extension)
    parts = [walk.dispatcher(kernel), tuple(map(_kind, kinds)), key_parts(), extension.sources]
    if walk.has_debug:
        parts.append(walk.lines)
    is_watched = extension.watches(kernel.py_func.__code__.co_filename)
    return digest([*parts, extension.key_parts(walk.lines)] if walk.uses_extension or is_watched else parts)


def _kind(kind: Any) -> Any:
    if isinstance(kind, (str, ItemKind, ArrayKind, LocalKind)):
        return kind
    if isinstance(kind, TupleKind):
        return TupleKind(tuple(map(_kind, kind.parts)))
    from numba.core import types

    if type(kind) is types.Integer:
        return str(kind)
    raise NoKeyError(f"an argument has type {kind}, which the key does not cover")


def key_parts() -> tuple[Any, ...]:
    """Return versions, settings and sources that all compiled code depends on."""
    return versions(PACKAGES), _environment(), _changed_settings(), _sources()


def _environment() -> list[tuple[str, str]]:
    """Return numba's settings in the environment."""
    found = (item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    return sorted(item for item in found if not any(word in item[0] for word in NOT_CODE))


def _changed_settings() -> list[tuple[str, Any]]:
    """Return the settings that the program has changed, which needs numba to be imported."""
    config = sys.modules.get("numba.core.config")
    return [
        (name, value)
        for name, default in _SETTINGS.items()
        if (value := getattr(config, name, default)) != default and f"NUMBA_{name}" not in os.environ
    ]


@functools.cache
def _sources() -> str:
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return digest([(path.name, path.read_bytes()) for path in files])
