"""The device side: what the names of ``ishmem`` mean inside numba-dpex kernels.

Importing this package registers an overload of each host function for the device target, so the same name in a kernel
compiles to the device form. Kernels need no handle or context: arrays and PE numbers are the only arguments.
"""

from __future__ import annotations

import numba_dpex  # noqa: F401  # first: at its end it binds parts of this package, which must not be half imported

from . import (
    amo,
    binding,
    build_errors,
    cache,
    call_sites,
    collectives,
    compile_errors,
    compile_speed,
    failed_launches,
    host_only,
    intrinsics,
    locks,
    order,
    query,
    reductions,
    rma,
    signals,
    slices,
    spec_constants,
    strided,
    team_constants,
    teams,
    translation,
    vcollectives,
    wait,
    wait_sets,
)  # fmt: skip

__all__ = [
    "amo", "binding", "build_errors", "cache", "call_sites", "collectives", "compile_errors", "compile_speed",
    "failed_launches", "host_only", "intrinsics", "locks", "order", "query", "reductions", "rma", "signals", "slices",
    "spec_constants", "strided", "team_constants", "teams", "translation", "vcollectives", "wait",
    "wait_sets",
]  # fmt: skip

host_only.register()
build_errors.install()
compile_errors.install()
compile_speed.install()
failed_launches.install()
spec_constants.install()
translation.install()
intrinsics.end_registration()
