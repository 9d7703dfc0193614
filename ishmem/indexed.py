"""Remote memory access by lists of indices: ``ixput``, ``ixget`` and their forms.

The same names work on the host and in kernels. All arrays have one dimension. The host moves one element after the
other; in kernels the work-items of a work-group share the elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ishmem import strided
from ishmem.common.routines import exported
from ishmem.common.type_tables import STANDARD, STATUS_TYPES
from ishmem.runtime import check, host_copies
from ishmem.runtime.docstrings import arguments_of
from ishmem.runtime.stubs import work_group_forms

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)


def ixput(dest: ndarray, source: Any, indices: Any, pe: int, mask: Any = None) -> None:
    """Scatter elements of ``source`` to ``dest`` on a PE, by a list of indices.

    Element ``i`` of ``source`` goes to element ``indices[i]`` of ``dest``, if ``mask[i]`` is not 0. Not collective.
    Blocking until local completion: ``source`` may then be reused. The data are at the destination after the next
    ``quiet`` or ``barrier_all``. If an index occurs several times, ``dest`` has one of its elements afterwards.

    Args:
        dest: Symmetric contiguous array of one dimension, of any dtype of dpnp.
        source: Contiguous dpnp or numpy array of one dimension, of the dtype of ``dest``, as long as ``indices``.
        indices: Array of int32, int64, uint32 or uint64, of one dimension.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        mask: Array of bool or integers, of one dimension, as long as ``indices``; by default all elements move.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``dest`` is not on the symmetric heap.
        IndexError: There is no such PE or element; nothing has moved then.
        TypeError: Not arrays, or of other dtypes.
        ValueError: Arrays that are too short, of several dimensions or not contiguous.
        PeerLost: The PE is lost.

    Example:
        >>> table = ishmem.zeros(5, dtype="i4")
        >>> ishmem.ixput(table, np.array([7, 8, 9], "i4"), np.array([4, 0, 2]), right, np.array([1, 1, 0]))
        >>> ishmem.barrier_all()
        >>> print(table)
        [8 0 0 0 7]

    Source: Cray SHMEM, shmem_ixput; the masked store of Iris.
    """
    to, origin = _arrays("ixput", dest, source)
    check.remote(to, check.pe(pe))
    for i, index in _moves(to, origin, indices, mask):
        strided.iput(to.array[index : index + 1], origin.array[i : i + 1], 1, 1, 1, pe)


@arguments_of(
    ixput,
    dest="Contiguous dpnp or numpy array of one dimension, of any dtype of dpnp, as long as ``indices``.",
    source="Symmetric contiguous array of one dimension of the dtype of ``dest``.",
)
def ixget(dest: Any, source: ndarray, indices: Any, pe: int, mask: Any = None) -> None:
    """Gather elements of ``source`` on a PE into ``dest``, by a list of indices.

    Element ``indices[i]`` of ``source`` goes to element ``i`` of ``dest``, if ``mask[i]`` is not 0; other elements of
    ``dest`` are unchanged. Not collective, blocking: returns when the data are in ``dest``. Errors as for ``ixput``,
    and ``ValueError`` for a read-only ``dest``.

    Example:
        >>> table, picked = ishmem.full(5, me, dtype="i4"), np.full(3, -1, "i4")
        >>> ishmem.ixget(picked, table, np.array([4, 0, 2]), right, np.array([True, True, False]))
        >>> picked.tolist() == [right, right, -1]
        True

    Source: Cray SHMEM, shmem_ixget; the masked load of Iris.
    """
    to, origin = _arrays("ixget", dest, source)
    check.remote(origin, check.pe(pe))
    for i, index in _moves(origin, to, indices, mask):
        strided.iget(to.array[i : i + 1], origin.array[index : index + 1], 1, 1, 1, pe)


globals().update(work_group_forms(__name__))


def _arrays(routine: str, dest: Any, source: Any) -> tuple[check.View, check.View]:
    """Return views of ``dest`` and ``source``: contiguous 1-D arrays of one dtype, ``dest`` writable; else raise."""
    to, origin = check.view(dest, "dest", routine=routine), check.view(source, "source", routine=routine)
    check.same_dtype(to, origin)
    check.writable(to)
    for each in (to, origin):
        _one_dimension(each)
        check.contiguous(each)
    return to, origin


def _one_dimension(array: check.View) -> None:
    if len(array.shape) != 1:
        raise ValueError(f"{array.name} has shape {array.shape}; allowed is one dimension, as of {array.name}.ravel()")


def _moves(indexed: check.View, plain: check.View, indices: Any, mask: Any) -> Iterator[tuple[int, int]]:
    """Return pairs of the number of a moved element of ``plain`` and its index in ``indexed``, all in range."""
    numbers = _list(indices, "indices", STANDARD)
    chosen = np.ones(len(numbers), bool) if mask is None else _list(mask, "mask", STATUS_TYPES) != 0
    for name, count in (("mask", len(chosen)), (plain.name, plain.count)):
        if count < len(numbers):
            raise ValueError(f"{name} has {count} elements and indices has {len(numbers)}; it needs at least as many")
    places = np.flatnonzero(chosen[: len(numbers)])
    wrong = places[(numbers[places] < 0) | (numbers[places] >= indexed.count)]
    if wrong.size:
        what = f"indices[{wrong[0]}] is {numbers[wrong[0]]}"
        raise IndexError(f"{what}; {indexed.name} has the elements 0 to {indexed.count - 1}")
    return zip(places.tolist(), numbers[places].tolist())


def _list(array: Any, name: str, types: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return a 1-D array of one of the dtypes ``types`` as numpy array; ``name`` is its argument name in errors."""
    _one_dimension(check.view(array, name, types, "ixput or ixget"))
    return host_copies.to_host(array)
