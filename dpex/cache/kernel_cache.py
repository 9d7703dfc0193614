"""The cache of kernels on disk: a kernel that any process has compiled before is loaded instead of compiled."""

from __future__ import annotations

import logging
from typing import Any, Callable

from ..compile.code import Code
from ..extension import installed
from . import locations
from .cache_key import NoKeyError
from .keys import kernel_key

log = logging.getLogger(__package__)


def code_of(kernel: Any, kinds: tuple[Any, ...], make: Callable[[tuple[Any, ...]], Code]) -> Code:
    """Return the code of a kernel: stored before, or made by ``make`` from the argument kinds."""
    store = locations.kernels
    key = None if store is None or kernel.is_specialised else _key(kernel, kinds)
    if store is None or key is None or not store.has(key):
        installed().expect_build()
    if store is None or key is None:
        return make(kinds)
    made: list[Code] = []

    def value() -> bytes | None:
        made.append(make(kinds))
        return _packed(made[0])

    stored = store.get_or_make(key, value, installed().compiles_first())
    if stored is None:
        return made[0]
    log.debug("kernel %s is loaded from the cache", kernel.__name__)
    name, _, spirv = stored.partition(b"\0")
    return Code(name.decode(), spirv)


def _key(kernel: Any, kinds: tuple[Any, ...]) -> str | None:
    try:
        return kernel_key(kernel, kinds)
    except NoKeyError as reason:
        log.debug("kernel %s is not cached: %s", kernel.__name__, reason)
        return None


def _packed(code: Code) -> bytes | None:
    """Return the name and SPIR-V as they are kept."""
    stored = installed().storable(code.spirv)
    if stored is None:
        log.debug("kernel %s is not cached: its code is of use in this process only", code.name)
        return None
    return code.name.encode() + b"\0" + stored
