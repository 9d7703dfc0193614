"""The device side: what the names of ``ishmem`` mean inside kernels.

Importing this package registers an overload of each host function for the device target, so the same name in a kernel
compiles to the device form. Kernels need no handle or context: arrays and PE numbers are the only arguments.
"""

from __future__ import annotations

import importlib

from ishmem.dpex import COMPILER

importlib.import_module(COMPILER)  # first: at its end it binds parts of this package, which must not be half imported

from . import (  # noqa: E402
    amo,
    binding,
    cache,
    call_sites,
    collectives,
    compile_errors,
    extension,
    front_end,
    host_only,
    intrinsics,
    locks,
    order,
    query,
    reductions,
    rma,
    signals,
    spec_constants,
    strided,
    team_constants,
    teams,
    vcollectives,
    wait,
    wait_sets,
)

__all__ = [
    "amo", "binding", "cache", "call_sites", "collectives", "compile_errors", "extension", "front_end", "host_only",
    "intrinsics", "locks", "order", "query", "reductions", "rma", "signals", "spec_constants", "strided",
    "team_constants", "teams", "vcollectives", "wait", "wait_sets",
]  # fmt: skip

host_only.register()
compile_errors.install()
front_end.install(extension.Ishmem())
intrinsics.end_registration()
