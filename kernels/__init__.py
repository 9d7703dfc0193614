"""The device side: the device forms of the routines of ``ishmem``, which kernels call by the same names.

Importing this package registers an overload of each host function for the device target, so the same name in a kernel
compiles to the device form. Kernels need no handle or context: arrays and PE numbers are the only arguments.

On today's stack it is imported when the first kernel is compiled: kernels in the cache need only
``ishmem.runtime.kernel_extension``.
"""

from __future__ import annotations

from . import (
    amo,
    call_arguments,
    call_sites,
    collectives,
    compile_errors,
    front_end,
    group_arguments,
    indexed,
    inference,
    intrinsics,
    locks,
    memory,
    order,
    query,
    reductions,
    rma,
    runtime_checks,
    signals,
    spec_constants,
    strided,
    teams,
    vcollectives,
    wait,
    wait_sets,
    work_groups,
)
from .forms import refuse_host_functions

__all__ = [
    "amo", "call_arguments", "call_sites", "collectives", "compile_errors", "front_end",
    "group_arguments", "indexed", "inference", "intrinsics", "locks", "memory", "order", "query", "reductions", "rma",
    "runtime_checks", "signals", "spec_constants", "strided", "teams", "vcollectives", "wait", "wait_sets",
    "work_groups",
]  # fmt: skip

refuse_host_functions()
front_end.install()
intrinsics.end_registration()
