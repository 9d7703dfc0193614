"""The device side: the device forms of the routines of ``ishmem``, which kernels call by the same names.

Importing this package registers an overload of each host function for the device target, so the same name in a kernel
compiles to the device form. Kernels need no handle or context: arrays and PE numbers are the only arguments.

On today's stack it is imported when the first kernel is compiled: kernels in the cache need only
``ishmem.runtime.kernel_extension``.
"""

from __future__ import annotations

from . import (
    all_reduce,
    amo,
    call_sites,
    collectives,
    compile_errors,
    constant_arguments,
    front_end,
    group_arguments,
    host_only,
    indexed,
    indices,
    intrinsics,
    locks,
    memory,
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
    work_groups,
)

__all__ = [
    "all_reduce", "amo", "call_sites", "collectives", "compile_errors", "constant_arguments", "front_end",
    "group_arguments", "host_only", "indexed", "indices", "intrinsics", "locks", "memory", "order", "query",
    "reductions", "rma", "signals", "spec_constants", "strided", "team_constants", "teams", "vcollectives", "wait",
    "wait_sets", "work_groups",
]  # fmt: skip

host_only.register()
front_end.install()
intrinsics.end_registration()
