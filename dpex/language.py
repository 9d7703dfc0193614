"""What kernels may call: importing this module makes it known to numba."""

from . import (
    atomics,
    barriers,
    comparisons,
    flags,
    halves,
    index_spaces,
    indexing,
    mathematics,
    printing,
    private_arrays,
    reductions,
    reshapes,
    slices,
    sub_groups,
    tuples,
    typeof,
    views,
)

__all__ = [
    "atomics", "barriers", "comparisons", "flags", "halves", "index_spaces", "indexing", "mathematics", "printing",
    "private_arrays", "reductions", "reshapes", "slices", "sub_groups", "tuples", "typeof", "views",
]  # fmt: skip
