"""Local memory of a work-group and private memory of a work-item."""

from __future__ import annotations

from typing import Any

import numpy as np

_KINDS = "iufb"


class LocalAccessor:
    """An array in local memory, one for each work-group; a kernel argument of launches over an `NdRange`."""

    def __init__(self, shape: Any, dtype: Any):
        """Set the shape and the dtype; nothing is allocated before the launch.

        Raises:
            TypeError: The shape is not one to three positive integers, or the dtype is not one of numbers.
        """
        given = shape.tolist() if hasattr(shape, "tolist") else shape
        self._shape = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if not _are_positive(self._shape):
            raise TypeError(f"Argument shape must be a positive integer or a list or tuple of them, got {shape!r}")
        if not 1 <= len(self._shape) <= 3:
            raise TypeError(f"LocalAccessor can only have up to 3 dimensions, got {len(self._shape)}")
        self._dtype = np.dtype(dtype)
        if self._dtype.kind not in _KINDS:
            raise TypeError(f"Argument dtype {dtype} is not supported; a local accessor holds integers or floats")

    def __getitem__(self, _index: Any) -> Any:
        raise NotImplementedError("The data of a LocalAccessor object can only be accessed inside a kernel.")

    def __setitem__(self, _index: Any, _value: Any) -> None:
        raise NotImplementedError("The data of a LocalAccessor object can only be accessed inside a kernel.")

    def allocate(self) -> Any:
        """Return an uninitialised numpy array of the shape and dtype, for a kernel in plain Python."""
        return np.empty(self._shape, self._dtype)


def _are_positive(extents: tuple[Any, ...]) -> bool:
    try:
        return all(int(extent) > 0 for extent in extents)
    except (TypeError, ValueError):
        return False


class PrivateArray:
    """An array in private memory of a work-item; its shape and dtype are literals in kernels.

    Its elements are 0 with ``fill_zeros``, a literal, too; otherwise they are undefined. A call in a loop is the same
    memory in each round.
    """

    def __init__(self, shape: Any, dtype: Any, fill_zeros: bool = False):
        self._data = np.zeros(shape, dtype) if fill_zeros else np.empty(shape, dtype)

    def __getitem__(self, index: Any) -> Any:
        return self._data[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._data[index] = value


class bfloat16:  # named as numpy's and ml_dtypes' scalar types are
    """The scalar type bfloat16 in kernels: ``a.view(bfloat16)`` views 16-bit integers; ``bfloat16(x)`` rounds a number.

    Arithmetic is in float32; a store rounds.
    """

    def __init__(self, _value: Any):
        raise NotImplementedError("bfloat16 exists in kernels on a device only, not in plain Python")
