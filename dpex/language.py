"""What kernels may call: importing this module makes it known to numba."""

from . import atomics, barriers, index_spaces, private_arrays, slices, typeof

__all__ = ["atomics", "barriers", "index_spaces", "private_arrays", "slices", "typeof"]
