"""What kernels may call: the import of this module registers it with numba."""

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
