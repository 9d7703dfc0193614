"""The compiler of kernels: the names of `ishmem.dpex.front_end.adapter`, which the rest of ``kernels`` uses."""

from __future__ import annotations

from ishmem.dpex.front_end.adapter import *  # noqa: F403
from ishmem.dpex.front_end.adapter import __all__ as __all__
