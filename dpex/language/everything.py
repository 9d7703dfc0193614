"""What kernels may call: importing this module makes it known to numba."""

from ..compile import typeof
from . import (
    atomics,
    barriers,
    comparisons,
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
    reshapes,
    rounding,
    scalars,
    slices,
    sub_groups,
    tuples,
    ufuncs,
    views,
)

__all__ = [
    "atomics", "barriers", "comparisons", "flags", "halves", "index_spaces", "indexing", "integers", "mathematics",
    "powers", "printing", "private_arrays", "reductions", "reshapes", "rounding", "scalars", "slices", "sub_groups",
    "tuples", "typeof", "ufuncs", "views",
]  # fmt: skip
