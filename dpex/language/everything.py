"""What kernels may call: importing this module makes it known to numba."""

from . import (
    atomics,
    barriers,
    flags,
    halves,
    index_spaces,
    indexing,
    integers,
    mathematics,
    powers,
    printing,
    private_arrays,
    reductions,
    rounding,
    scalars,
    slices,
    sub_groups,
    tuples,
    ufuncs,
    views,
)

__all__ = [
    "atomics", "barriers", "flags", "halves", "index_spaces", "indexing", "integers", "mathematics",
    "powers", "printing", "private_arrays", "reductions", "rounding", "scalars", "slices", "sub_groups",
    "tuples", "ufuncs", "views",
]  # fmt: skip
