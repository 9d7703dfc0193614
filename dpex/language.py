"""What kernels may call: importing this module makes it known to numba."""

from . import (
    assignments,
    atomics,
    barriers,
    flags,
    halves,
    index_spaces,
    mathematics,
    printing,
    private_arrays,
    reshapes,
    slices,
    sub_groups,
    tuples,
    typeof,
)

__all__ = [
    "assignments", "atomics", "barriers", "flags", "halves", "index_spaces", "mathematics", "printing",
    "private_arrays", "reshapes", "slices", "sub_groups", "tuples", "typeof",
]  # fmt: skip
