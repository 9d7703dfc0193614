"""Registers all functions, operators and methods for kernels with numba when it is imported."""

from . import (  # noqa: F401
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
    sub_groups,
    tuples,
    ufuncs,
    views,
)
