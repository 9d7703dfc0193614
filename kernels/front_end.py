"""The compiler of kernels, to which the rest of ``kernels`` speaks by the names of `ishmem.dpex.front_end.adapter`."""

from __future__ import annotations

from ishmem.dpex.front_end.adapter import *  # noqa: F403
from ishmem.dpex.front_end.adapter import __all__ as __all__
