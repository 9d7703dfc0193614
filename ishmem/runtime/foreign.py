"""Arrays of another library that calls and kernels accept: the tensors of torch, once `ishmem.torch` is imported.

`native` is the only conversion; the core's fast path uses `Library.describe` and converts nothing.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ishmem import _core
from ishmem.common.type_tables import OPAQUE, RMA_TYPES

TYPE_NUMBERS: dict[str, int] = {name: np.dtype(name).num for name in RMA_TYPES}
"""The numbers of dtypes in the core: those of numpy, and numbers that numpy does not use."""
TYPE_NUMBERS.update((name, number) for number, name in enumerate(OPAQUE, 24))


class Library(Protocol):
    """The functions by which ishmem uses the arrays of another library; ``kind`` is the class of these arrays."""

    kind: type

    def describe(self, array: Any) -> tuple[int, int, int, int, int, bool]:
        """Return address, count and size of elements, contiguity bits, dtype number, and whether on the device."""

    def native(self, array: Any) -> Any:
        """Return a dpnp or numpy array that shares the memory of an array; dtypes of `OPAQUE` become integers.

        Raises:
            TypeError: No such array can be made.
        """

    def dtype(self, array: Any) -> str:
        """Return the name of the dtype of an array."""

    def queue(self) -> Any:
        """Return the queue to which the library currently submits work; None if there is none."""

    def element(self, value: Any, dtype: str) -> Any:
        """Return a one-element array in host memory that holds a number in ``dtype``, one of `OPAQUE`."""

    def number(self, bits: np.ndarray[Any, Any], dtype: str) -> float:
        """Return the value of the one element of ``bits``, which holds the bits of a ``dtype`` of `OPAQUE`."""


_library: Library | None = None


def install(library: Library) -> None:
    """Make all calls accept the arrays of a library, in place of those of one installed before."""
    global _library
    _library = library
    _core.set_foreign(library.kind, library.describe)


def native(array: Any) -> Any:
    """Return a dpnp or numpy array that shares the memory of an array of the library; other objects unchanged.

    It holds elements of a dtype of `OPAQUE` as integers.

    Raises:
        TypeError: No such array can be made.
    """
    return array if _library is None or not isinstance(array, _library.kind) else _library.native(array)


def is_tensor(array: Any) -> bool:
    """Return whether an object is a tensor of torch, whether or not `ishmem.torch` is imported."""
    return any(kind.__module__.split(".")[0] == "torch" and hasattr(kind, "data_ptr") for kind in type(array).__mro__)


def queue() -> Any:
    """Return the queue to which the library currently submits work; None if there is none."""
    return None if _library is None else _library.queue()


def current_stream_wait(event: Any) -> None:
    """Make later work on the queue of `queue` wait for SYCL event ``event``; without a queue, wait on the host."""
    current = queue()
    if current is None:
        event.wait()
    else:
        current.submit_barrier([event])


def dtype_of(array: Any) -> str | None:
    """Return the name of the dtype of an array of the library; None for other objects."""
    return None if _library is None or not isinstance(array, _library.kind) else _library.dtype(array)


def element(value: Any, dtype: str) -> Any:
    """Return a one-element array of the installed library in host memory: a number in ``dtype``, one of `OPAQUE`."""
    assert _library
    return _library.element(value, dtype)


def number(bits: np.ndarray[Any, Any], dtype: str) -> float:
    """Return the value of the one element of ``bits``, which holds the bits of a ``dtype`` of `OPAQUE`."""
    assert _library
    return _library.number(bits, dtype)
