"""The cache of kernels on disk, which all processes of a user share.

It contains SPIR-V; constants that differ between processes are set when a kernel is loaded.
"""

from __future__ import annotations

import logging
from typing import Any, Callable, NamedTuple

from ..extension import installed
from . import key as keys, store

log = logging.getLogger(__package__)


class Code(NamedTuple):
    """A compiled kernel, as passed to the driver.

    Attributes:
        name: The name of the kernel in the module.
        spirv: The SPIR-V module.
        llvm: The optimised LLVM code, if the compiler was set to return it; else empty.
    """

    name: str
    spirv: bytes
    llvm: str = ""


Make = Callable[[tuple[Any, ...]], Code]
"""Compiles a kernel for argument kinds, and returns its code."""


def code_of(kernel: Any, kinds: tuple[Any, ...], make: Make, is_kept: bool = True) -> Code:
    """Return the code of a kernel for ``kinds``, by ``make`` or, if ``is_kept``, from the cache, where it is stored."""
    kept = store.kernels
    key = _key(kernel, kinds) if kept and is_kept else None
    if kept is None or key is None or not kept.has(key):
        installed().expect_build()
    if kept is None or key is None:
        return _made(kernel, kinds, make)
    made: list[Code] = []

    def value() -> bytes | None:
        made.append(_made(kernel, kinds, make))
        return _packed(made[0])

    stored = kept.get_or_make(key, value, installed().compiles_first())
    if stored is None:
        return made[0]
    log.debug("kernel %s is loaded from the cache", kernel.__name__)
    name, _, spirv = stored.partition(b"\0")
    return Code(name.decode(), spirv)


def _made(kernel: Any, kinds: tuple[Any, ...], make: Make) -> Code:
    log.debug("kernel %s is compiled", kernel.__name__)
    return make(kinds)


def _key(kernel: Any, kinds: tuple[Any, ...]) -> str | None:
    try:
        return keys.kernel_key(kernel, kinds)
    except keys.NoKeyError as reason:
        log.debug("kernel %s is not cached: %s", kernel.__name__, reason)
        return None


def _packed(code: Code) -> bytes | None:
    """Return the cache entry of compiled code: name, zero byte, SPIR-V; None if other processes cannot use the code."""
    stored = installed().storable(code.spirv)
    if stored is None:
        log.debug("kernel %s is not cached: its code is of use in this process only", code.name)
        return None
    return code.name.encode() + b"\0" + stored
