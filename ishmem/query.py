"""Queries: this PE and the PEs of the job, what this PE can access, and the version of the library.

Host calls. The same names inside a kernel are the functions of ``ishmem.kernels.query``. None is collective or blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ishmem import _core
from ishmem.common import constants
from ishmem.common.errors import SymmetryError
from ishmem.common.routines import exported
from ishmem.environment import arrays
from ishmem.memory import extent, is_symmetric
from ishmem.runtime import check, job

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)


def my_pe() -> int:
    """Return the number of this PE, from 0 to ``n_pes() - 1``; a constant inside kernels.

    Raises:
        StateError: Not between ``init`` and ``finalize``.

    Example:
        >>> 0 <= ishmem.my_pe() < ishmem.n_pes()
        True

    Source: OpenSHMEM 1.5, 9.1.2 (shmem_my_pe).
    """
    return job.current().pe


def n_pes() -> int:
    """Return the number of PEs of the job; a constant inside kernels.

    Raises:
        StateError: Not between ``init`` and ``finalize``.

    Example:
        >>> left, right = (ishmem.my_pe() - 1) % ishmem.n_pes(), (ishmem.my_pe() + 1) % ishmem.n_pes()

    Source: OpenSHMEM 1.5, 9.1.3 (shmem_n_pes).
    """
    return job.current().n_pes


def pe_accessible(pe: int) -> bool:
    """Return whether ``pe`` is a PE of the job that has neither died nor finalised; not collective.

    In a kernel: whether there is such a PE. ``ptr`` tells whether loads and stores reach it.

    Args:
        pe: A number of a PE, or any other integer.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        TypeError: ``pe`` is not an integer.

    Example:
        >>> ishmem.pe_accessible(right), ishmem.pe_accessible(n)
        (True, False)

    Source: OpenSHMEM 1.5, 9.1.6 (shmem_pe_accessible).
    """
    this = job.current()
    return 0 <= check.integer(pe, "pe") < this.n_pes and pe not in this.gone


def addr_accessible(a: Any, pe: int) -> bool:
    """Return whether operations on ``a`` at a PE are possible: ``a`` is symmetric and the PE is alive. Not collective.

    In a kernel: whether ``a`` lies on the symmetric heap, and there is such a PE.

    Args:
        a: Any array, symmetric or private.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        IndexError: There is no such PE.

    Example:
        >>> a = ishmem.zeros(4)
        >>> ishmem.addr_accessible(a, right), ishmem.addr_accessible(a + 1, right)
        (True, False)

    Source: OpenSHMEM 1.5, 9.1.7 (shmem_addr_accessible).
    """
    return check.pe(pe) not in job.current().gone and is_symmetric(a)


def ptr(a: ndarray, pe: int) -> ndarray | None:
    """Return a dpnp array on the memory of ``a`` on a PE, or ``None`` if this PE cannot load and store there.

    The array has the shape, strides and dtype of ``a``; kernels and dpctl take it like any other. It is valid until
    ``a`` is freed, and is not itself symmetric. For a static object it is a numpy array. Not collective.

    In a kernel, where a result cannot be either an array or ``None``, the array has no elements if kernels cannot
    access the PE: test ``.size``, and call ``put`` or ``get`` where it is 0.

    Args:
        a: A symmetric array of any shape and dtype, a view of one, or a static object.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``a`` is not on the symmetric heap.
        TypeError: ``a`` is not an array.
        IndexError: There is no such PE.

    Example:
        >>> a = ishmem.full(4, me)
        >>> theirs = ishmem.ptr(a, right)
        >>> theirs is None or int(theirs[0]) == right
        True

    Source: OpenSHMEM 1.5, 9.1.8 (shmem_ptr); ishmem_ptr.
    """
    number, reach = check.pe(pe), extent(a)
    described = check.view(a, "a", routine="ptr")
    a = described.array
    if not hasattr(a, "shape"):
        wrap = f"{arrays.tensor.__name__}.usm_ndarray(buffer=)"
        raise TypeError(f"a is an array, got {type(a).__name__}; wrap it with {wrap}")
    this = job.current()
    if this.statics.ptr(a, this.pe) is not None:
        return this.statics.ptr(a, number)
    if reach is None:
        check.symmetric(described)
        raise SymmetryError(f"a reaches outside its allocation: {a!r}")
    if not this.heap.reaches(number):
        return None
    _core.store_directly()
    return a if number == this.pe else this.heap.peer_array(number, *reach, described.address - this.heap.base, a)


def info_get_version() -> tuple[int, int]:
    """Return the version of the OpenSHMEM specification that ishmem implements; callable at any time.

    Example:
        >>> major, minor = ishmem.info_get_version()

    Source: OpenSHMEM 1.5, 9.1.9 (shmem_info_get_version).
    """
    return constants.VERSION


def info_get_name() -> str:
    """Return the name of the library; callable at any time.

    Example:
        >>> name = ishmem.info_get_name()

    Source: OpenSHMEM 1.5, 9.1.10 (shmem_info_get_name).
    """
    return constants.VENDOR_NAME
