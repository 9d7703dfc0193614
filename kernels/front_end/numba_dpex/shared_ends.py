"""One copy of each end of a function, as `ishmem.dpex` has it: a group has to be in the same call of an operation."""

from __future__ import annotations

import functools
import sys
from typing import Any

from numba_dpex.core.pipelines.kernel_compiler import KernelCompiler

from ishmem.dpex.shared_ends import SharedEnds


def install() -> None:
    """Make the pass the first one of each compilation; CPython 3.9 does not copy ends."""
    if sys.version_info >= (3, 10):
        KernelCompiler.define_pipelines = _with_shared_ends(KernelCompiler.define_pipelines)


def _with_shared_ends(define_pipelines: Any) -> Any:
    @functools.wraps(define_pipelines)
    def define(self: Any) -> list[Any]:
        pipelines: list[Any] = define_pipelines(self)
        for each in pipelines:
            each.passes.insert(0, (SharedEnds, "one copy of each end of the function"))
            each.finalize()
        return pipelines

    return define
