"""Strided remote memory access: ``iput``, ``iget``, ``ibput``, ``ibget`` and their forms.

The same names work on the host and in kernels. Elements are counted in C order from the start of each array. A stride
is the distance in elements between the starts of consecutive elements or blocks; what is between is not accessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ishmem import _core
from ishmem.common.routines import exported
from ishmem.runtime import boxes, check
from ishmem.runtime.docstrings import arguments, arguments_of
from ishmem.runtime.stubs import fast_path, work_group_forms

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)

_THEIRS = "Symmetric C-contiguous array of the dtype of ``dest``."
_DST = "Stride of ``dest`` in elements, at least ``bsize`` and at least 1."
_BSIZE = "Number of elements of a block, at least 0."


@fast_path(_core.iput)
def iput(dest: ndarray, source: Any, dst: int, sst: int, nelems: int, pe: int) -> None:
    """Put ``nelems`` elements with stride ``sst`` in ``source`` to elements with stride ``dst`` in ``dest`` on a PE.

    Element ``i * sst`` of ``source`` goes to element ``i * dst`` of ``dest``. Not collective. Blocking until local
    completion: ``source`` may then be reused. The data are at the destination after the next ``quiet`` or
    ``barrier_all``.

    Args:
        dest: Symmetric C-contiguous array, of any dtype of dpnp.
        source: C-contiguous dpnp or numpy array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1.
        sst: Stride of ``source`` in elements, with the same limit as ``dst``.
        nelems: Number of elements, at least 0.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``dest`` is not on the symmetric heap.
        IndexError: There is no such PE.
        TypeError: Not arrays, not of one dtype, or strides and sizes that are not integers.
        ValueError: Strides below their limit, negative sizes, arrays too short, not C-contiguous or read-only.
        PeerLost: The PE is lost: on another node, or in a job that continues after losses.

    Example:
        >>> matrix = ishmem.zeros((3, 4), dtype="i4")
        >>> ishmem.iput(matrix, np.array([1, 2, 3], "i4"), 4, 1, 3, right)  # into the first column
        >>> ishmem.barrier_all()
        >>> print(matrix[:, 0])
        [1 2 3]

    Source: OpenSHMEM 1.5, 9.6.1.3 (shmem_iput); ishmem_iput.
    """
    plan = plan_blocks("iput", dest, source, Blocks(dst, sst, 1, nelems), pe, True)
    check.run_in_core("iput", _core.iput, plan.dest.array, plan.source.array, dst, sst, nelems, plan.pe)


@fast_path(_core.iget)
@arguments_of(iput, dest="C-contiguous dpnp or numpy array of this PE, of any dtype of dpnp.", source=_THEIRS)
def iget(dest: Any, source: ndarray, dst: int, sst: int, nelems: int, pe: int) -> None:
    """Get ``nelems`` elements with stride ``sst`` in ``source`` on a PE into elements with stride ``dst`` in ``dest``.

    Element ``i * sst`` of ``source`` goes to element ``i * dst`` of ``dest``. Not collective, blocking: returns when
    the data are in ``dest``. Errors as for ``iput``.

    Example:
        >>> matrix, column = ishmem.full((3, 4), me, dtype="i4"), np.empty(3, "i4")
        >>> ishmem.iget(column, matrix, 1, 4, 3, right)
        >>> bool((column == right).all())
        True

    Source: OpenSHMEM 1.5, 9.6.1.6 (shmem_iget); ishmem_iget.
    """
    plan = plan_blocks("iget", dest, source, Blocks(dst, sst, 1, nelems), pe, False)
    check.run_in_core("iget", _core.iget, plan.dest.array, plan.source.array, dst, sst, nelems, plan.pe)


@fast_path(_core.ibput)
@arguments_of(iput, dst=_DST, bsize=_BSIZE, nblocks="Number of blocks, at least 0.")
def ibput(dest: ndarray, source: Any, dst: int, sst: int, bsize: int, nblocks: int, pe: int) -> None:
    """Put ``nblocks`` blocks of ``bsize`` elements, ``sst`` apart in ``source``, to ``dest`` on a PE, ``dst`` apart.

    Block ``i`` goes from element ``i * sst`` of ``source`` to element ``i * dst`` of ``dest``. Not collective;
    completion and errors as for ``iput``.

    Example:
        >>> matrix, tile = ishmem.zeros((3, 4), dtype="i4"), np.ones(6, "i4")
        >>> ishmem.ibput(matrix, tile, 4, 2, 2, 3, right)  # the first two columns
        >>> ishmem.barrier_all()
        >>> print(matrix[1])
        [1 1 0 0]

    Source: OpenSHMEM 1.6 (shmem_ibput); ishmemx_ibput.
    """
    plan = plan_blocks("ibput", dest, source, Blocks(dst, sst, bsize, nblocks), pe, True)
    check.run_in_core("ibput", _core.ibput, plan.dest.array, plan.source.array, dst, sst, bsize, nblocks, plan.pe)


@fast_path(_core.ibget)
@arguments_of(ibput, dest=arguments(iget)["dest"], source=_THEIRS)
def ibget(dest: Any, source: ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int) -> None:
    """Get ``nblocks`` blocks of ``bsize`` elements, ``sst`` apart in ``source`` on a PE, into ``dest``, ``dst`` apart.

    Block ``i`` goes from element ``i * sst`` of ``source`` to element ``i * dst`` of ``dest``. Not collective;
    completion and errors as for ``iget``.

    Example:
        >>> matrix, tile = ishmem.full((3, 4), me, dtype="i4"), np.empty(6, "i4")
        >>> ishmem.ibget(tile, matrix, 2, 4, 2, 3, right)
        >>> bool((tile == right).all())
        True

    Source: OpenSHMEM 1.6 (shmem_ibget); ishmemx_ibget.
    """
    plan = plan_blocks("ibget", dest, source, Blocks(dst, sst, bsize, nblocks), pe, False)
    check.run_in_core("ibget", _core.ibget, plan.dest.array, plan.source.array, dst, sst, bsize, nblocks, plan.pe)


globals().update(work_group_forms(__name__))


class Blocks(NamedTuple):
    """Arguments: ``nblocks`` blocks of ``bsize`` elements with strides ``dst`` and ``sst``; `iput` has blocks of 1."""

    dst: Any
    sst: Any
    bsize: Any
    nblocks: Any


def plan_blocks(routine: str, dest: Any, source: Any, blocks: Blocks, pe: Any, is_put: bool) -> boxes.Plan:
    """Return the plan of a strided put (``is_put``) or get: one box with all blocks, or none without elements.

    Raises the errors of ``iput``, in the name of ``routine``.
    """
    number = check.pe(pe)
    to, origin = check.view(dest, "dest", routine=routine), check.view(source, "source", routine=routine)
    check.same_dtype(to, origin)
    check.writable(to)
    count = check.integer(blocks.nblocks, "nelems" if routine[1] != "b" else "nblocks")
    size = check.integer(blocks.bsize, "bsize")
    to_step, from_step = _step(to, "dst", blocks.dst, size, count), _step(origin, "sst", blocks.sst, size, count)
    dense = to_step == from_step == size
    box = boxes.Box(0, 0, size * count, []) if dense else boxes.Box(0, 0, size, [(count, to_step, from_step)])
    remote = check.remote(to if is_put else origin, number)
    return boxes.Plan(to, origin, [box] if size and count else [], number, is_put, remote)


def _step(array: check.View, name: str, stride: Any, bsize: int, nblocks: int) -> int:
    """Check the stride, argument ``name``, and that ``array`` contains all blocks; return the stride in elements."""
    step = check.integer(stride, name)
    least = max(bsize, 1)
    if bsize < 0 or nblocks < 0:
        raise ValueError(f"the size and the number of blocks must be at least 0, got {bsize} and {nblocks}")
    if step < least:
        raise ValueError(f"{name} is {step}; strides are at least 1 and at least the size of a block, here {least}")
    if not array.order & 1:
        raise ValueError(f"{array.name} is not C-contiguous; copy it with dpnp.ascontiguousarray")
    reach = (nblocks - 1) * step + bsize if nblocks and bsize else 0
    if reach > array.count:
        raise ValueError(
            f"{array.name} has {array.count} elements; {nblocks} blocks of {bsize} at {name}={step} need {reach}"
        )
    return step if nblocks > 1 else least  # the stride of one block is not used
