"""Where compiled code is kept on disk, for both compilers."""

from __future__ import annotations

from pathlib import Path

from .store import Store

LIMIT = 1 << 28
"""Bytes that a folder holds by default."""

kernels: Store | None = None
"""The store of kernels; ``None`` if none are kept."""

functions: Store | None = None
"""The store of a library's device functions."""


def use(folder: Path | None, limit: int = LIMIT, installed: Path | None = None) -> None:
    """Keep at most ``limit`` bytes of compiled code in a folder; ``None``, as before the first call, means no cache.

    A quarter of the bytes is for device functions. Those in the folder ``installed`` are used, too.
    """
    global kernels, functions
    for_functions = limit // 4
    kernels = None if folder is None else Store(folder, limit - for_functions)
    functions = None if folder is None else Store(folder, for_functions, ".function", installed)
