"""The device side: what the names of ``ishmem`` mean inside numba-dpex kernels.

Importing it registers an overload of each host function for the device target, so that the same name in a
kernel compiles to the device form. A kernel author passes arrays and PE numbers, nothing else.
"""

from __future__ import annotations

import numba_dpex  # noqa: F401  # first: at its end ishmem binds parts of this package, which must not be half made

from . import (
    amo,
    binding,
    build_errors,
    cache,
    collectives,
    locks,
    order,
    query,
    reductions,
    rma,
    signals,
    strided,
    teams,
    vcollectives,
    wait,
    wait_sets,
)  # fmt: skip

__all__ = [
    "amo", "binding", "build_errors", "cache", "collectives", "locks", "order", "query", "reductions", "rma", "signals",
    "strided", "teams", "vcollectives", "wait", "wait_sets",
]  # fmt: skip

build_errors.install()
