"""The device forms of the routines of ``ishmem``, which kernels call by the names of the host functions.

Importing this package registers an overload of each host function for the device target, so the same name in a kernel
compiles to the device form. Kernels need no handle or context: arrays and PE numbers are the only arguments.

On today's stack it is imported when the first kernel is compiled: kernels in the cache need only
``ishmem.runtime.kernel_extension``.
"""

from __future__ import annotations

import importlib

from . import compile_errors, front_end, intrinsics, runtime_checks
from .forms import refuse_host_functions

__all__ = ["compile_errors", "front_end", "intrinsics", "runtime_checks"]

CHAPTERS = (
    "amo", "call_arguments", "call_sites", "collectives", "group_arguments", "indexed", "inference", "locks", "memory",
    "order", "query", "reductions", "rma", "signals", "strided", "teams", "vcollectives", "wait", "wait_sets",
    "work_groups",
)  # fmt: skip
"""The modules that register device forms, checks of calls, and rewrites."""

for _name in CHAPTERS:
    importlib.import_module(f"{__name__}.{_name}")
refuse_host_functions()
front_end.install()
intrinsics.end_registration()
