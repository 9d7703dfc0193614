"""The folder of compiled kernels and device functions."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from . import front_end


def use(where: str, limit: int) -> None:
    """Cache at most ``limit`` bytes in folder ``where``: ``auto`` is the user's cache folder, ``off`` disables it."""
    folder = platformdirs.user_cache_path("ishmem") / "kernels" if where == "auto" else Path(where)
    front_end.use_cache(None if where == "off" else folder, limit)
