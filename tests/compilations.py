"""For tests of the kernel cache, with either compiler: the key of a kernel, and which kernels are compiled."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import dpex, dpnp

from ishmem.dpex.cache import key as keys, store


def key(kernel: Any, *dtypes: str, ndim: int = 1, nd: bool = False) -> str:
    """Return the key of a kernel for arrays of these dtypes."""
    arrays = [dpnp.empty((2,) * ndim, dtype=dtype) for dtype in dtypes or ("i8",)]
    return keys.kernel_key(kernel, _kinds(arrays, nd))


if dpex.HAS_NUMBA_DPEX:
    from numba import typeof

    from ishmem.kernels.front_end import ItemType, NdItemType

    def _kinds(arrays: list[Any], nd: bool) -> tuple[Any, ...]:
        return (NdItemType(1) if nd else ItemType(1), *map(typeof, arrays))

else:
    from ishmem.dpex.launch import submission
    from ishmem.dpex.launch.kinds import ItemKind

    def _kinds(arrays: list[Any], nd: bool) -> tuple[Any, ...]:
        return (ItemKind(1, nd), *submission._Launch(arrays).kinds)


@contextlib.contextmanager
def cache_in(folder: Path | None) -> Iterator[None]:
    """Keep compiled code in a folder for a while; ``None`` keeps none."""
    before = store.kernels, store.functions
    store.use(folder, 1 << 20)
    yield
    store.kernels, store.functions = before


class Compilations(logging.Handler):
    """Counts the kernels that are compiled.

    Attributes:
        kernels: Their names.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.kernels: list[str] = []
        self._log = logging.getLogger("ishmem")
        self._level = self._log.level

    def __enter__(self) -> Compilations:
        self._log.addHandler(self)
        self._log.setLevel(logging.DEBUG)
        return self

    def __exit__(self, *_error: Any) -> None:
        self._log.removeHandler(self)
        self._log.setLevel(self._level)

    def emit(self, record: logging.LogRecord) -> None:
        """Note the name in a message about a compiled kernel."""
        words = record.getMessage().split()
        if words[0] == "kernel" and words[2:] == ["is", "compiled"]:
            self.kernels.append(words[1])
