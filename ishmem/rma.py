"""Remote memory access: ``put``, ``get``, ``p``, ``g`` and their forms.

The same names work on the host and in kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ishmem import _core
from ishmem.common.routines import exported
from ishmem.common.type_tables import OPAQUE
from ishmem.runtime import boxes, check, foreign
from ishmem.runtime.docstrings import arguments_of
from ishmem.runtime.stubs import fast_path, work_group_forms

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index

__all__ = exported(__name__)

_OWN = "A dpnp or numpy array of this PE, of any dtype of dpnp."
_THEIRS = "Symmetric array with the dtype and number of elements of ``dest``."


@fast_path(_core.put)
def put(dest: ndarray, source: Any, pe: int, nelems: int | None = None) -> None:
    """Copy ``source`` to the symmetric array ``dest`` on a PE.

    Not collective. Blocking until local completion: ``source`` may then be reused. The data are at the destination
    after the next ``quiet`` or ``barrier_all``. Arrays need not be contiguous: elements go to the same indices. Between
    different shapes, and with ``nelems``, they are counted in C order; in memory, if both arrays are in Fortran order.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: A dpnp or numpy array with the dtype and number of elements of ``dest``, or a scalar for one element.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``dest`` is not on the symmetric heap.
        IndexError: There is no such PE.
        TypeError: Not arrays, or not of one dtype.
        ValueError: Sizes that do not match, a read-only ``dest``, or arrays that are not contiguous and of shapes of
            which neither divides into rows of the other.
        PeerLost: The PE is lost: on another node, or in a job that continues after losses.

    Example:
        >>> box = ishmem.zeros(4, dtype="i4")
        >>> ishmem.put(box, np.arange(4, dtype="i4"), right)
        >>> ishmem.barrier_all()  # the left neighbour's put has arrived
        >>> print(box)
        [0 1 2 3]

    Source: OpenSHMEM 1.5, 9.6.1.1 (shmem_put); ishmem_put.
    """
    _move(_core.put, dest, source, pe, nelems, is_put=True)


@fast_path(_core.get)
@arguments_of(put, dest=_OWN, source=_THEIRS)
def get(dest: Any, source: ndarray, pe: int, nelems: int | None = None) -> None:
    """Copy the symmetric array ``source`` on a PE to ``dest``, a dpnp or numpy array of this PE.

    Sizes, types and errors as for ``put``. Not collective, blocking: returns when the data are in ``dest``.

    Example:
        >>> box, got = ishmem.full(4, me, dtype="i4"), np.empty(4, "i4")
        >>> ishmem.get(got, box, right)
        >>> bool((got == right).all())
        True

    Source: OpenSHMEM 1.5, 9.6.1.4 (shmem_get); ishmem_get.
    """
    _move(_core.get, dest, source, pe, nelems, is_put=False)


@fast_path(_core.put_nbi)
@arguments_of(put)
def put_nbi(dest: ndarray, source: Any, pe: int, nelems: int | None = None) -> None:
    """Start ``put`` without waiting for local completion.

    ``source`` may be reused after the next ``quiet`` or ``flush``. Sizes, types and errors as for ``put``.
    Not collective, not blocking.

    Example:
        >>> box, data = ishmem.zeros(4), np.ones(4)
        >>> ishmem.put_nbi(box, data, right)
        >>> ishmem.quiet()  # only now may data change

    Source: OpenSHMEM 1.5, 9.6.2.1 (shmem_put_nbi); ishmem_put_nbi.
    """
    _move(_core.put_nbi, dest, source, pe, nelems, is_put=True)


@fast_path(_core.get_nbi)
@arguments_of(get)
def get_nbi(dest: Any, source: ndarray, pe: int, nelems: int | None = None) -> None:
    """Start ``get`` without waiting for the data.

    They are in ``dest`` after the next ``quiet`` or ``flush``. Sizes, types and errors as for ``put``. Not collective,
    not blocking.

    Example:
        >>> box, got = ishmem.full(4, me, dtype="i4"), np.empty(4, "i4")
        >>> ishmem.get_nbi(got, box, right)
        >>> ishmem.quiet()
        >>> int(got[0]) == right
        True

    Source: OpenSHMEM 1.5, 9.6.2.2 (shmem_get_nbi); ishmem_get_nbi.
    """
    _move(_core.get_nbi, dest, source, pe, nelems, is_put=False)


@fast_path(_core.p)
def p(dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Put one value into element ``index`` of the symmetric array ``dest`` on a PE.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        value: A number that the dtype of ``dest`` can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: a tuple of indices, or its number in C order (in Fortran order, if the array is in that).

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``dest`` is not on the symmetric heap.
        IndexError: There is no such PE or element.
        TypeError: Not an array, or ``value`` is not a number of the kind that ``dest`` holds.
        ValueError: ``value`` does not fit the dtype, or ``dest`` is not contiguous.
        PeerLost: As for ``put``.

    Example:
        >>> box = ishmem.zeros(4, dtype="i4")
        >>> ishmem.p(box, 7, right, index=2)

    Source: OpenSHMEM 1.5, 9.6.1.2 (shmem_p); ishmem_p.
    """
    _move_element("p", _core.put_element, "dest", dest, foreign.native(check.as_element(dest, value)), pe, index)


@fast_path(_core.g)
@arguments_of(p, source="Symmetric contiguous array, of any dtype of dpnp.")
def g(source: ndarray, pe: int, index: Index = 0) -> Any:
    """Get element ``index`` of the symmetric array ``source`` on a PE, as a Python scalar.

    Not collective, blocking. Errors as for ``p``.

    Example:
        >>> box = ishmem.full(4, me, dtype="i4")
        >>> ishmem.g(box, right, index=2) == right
        True

    Source: OpenSHMEM 1.5, 9.6.1.5 (shmem_g); ishmem_g.
    """
    described = check.view(source, "source", routine="g")
    out = np.empty(1, described.storage)
    _move_element("g", _core.get_element, "source", source, out, pe, index)
    return foreign.number(out, described.dtype) if described.dtype in OPAQUE else out[0].item()


globals().update(work_group_forms(__name__))


def _move(move: Callable[..., Any], dest: Any, source: Any, pe: Any, nelems: Any, *, is_put: bool) -> None:
    """Put or get after the core declined the arguments: raise their error, or pass the core arrays that it accepts."""
    known = plan("put" if is_put else "get", dest, source, pe, nelems, is_put)
    check.run_in_core(move.__name__, move, known.dest.array, known.source.array, known.pe, nelems)


def plan(routine: str, dest: Any, source: Any, pe: Any, nelems: Any, is_put: bool) -> boxes.Plan:
    """Return the plan of a put (``is_put``) or get, where a scalar is an array of one element; errors as ``put``."""
    number, to = check.pe(pe), check.view(dest, "dest", routine=routine)
    if is_put and check.is_scalar(source):
        source = check.as_element(dest, source)
    return boxes.of_arrays(to, check.view(source, "source", routine=routine), nelems, number, is_put)


def _move_element(
    routine: str, move: Callable[..., Any], name: str, array: Any, element: np.ndarray[Any, Any], pe: Any, index: Any
) -> None:
    """Check the arguments of `p` or `g`, then put ``element`` to ``array`` on a PE, or get it from there, as bytes."""
    number, described = check.pe(pe), check.view(array, name)
    check.element(described, index, number)
    check.run_in_core(routine, move, described.array, element, number, check.position(described, index))
