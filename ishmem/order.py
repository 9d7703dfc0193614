"""Memory ordering: ``fence``, ``quiet`` and ``pe_quiet``; and ``flush``, which waits for local completion only.

The same names work on the host and in kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ishmem import _core
from ishmem.common.routines import exported
from ishmem.environment import arrays
from ishmem.runtime import check, host_copies, job
from ishmem.runtime.stubs import fast_path, work_group_forms

if TYPE_CHECKING:
    from ishmem.runtime.copy_engine import CopyEngine

__all__ = exported(__name__)


@fast_path(_core.quiet)
def fence() -> None:
    """Order the delivery of this PE's puts, atomics and stores on each PE.

    Operations before the fence are delivered to a PE before operations after it. Not collective. On the host it blocks
    until the operations before it are complete, as ``quiet`` does, unless ``ISHMEM_SIM_ORDER`` is set.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE of another node is lost.
        LevelZeroError: The device is lost.

    Example:
        >>> box, flag = ishmem.zeros(4), ishmem.zeros(1, dtype="i8")
        >>> ishmem.put(box, np.ones(4), right)
        >>> ishmem.fence()  # the data before the flag
        >>> ishmem.atomic_set(flag, 1, right)
        >>> ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
        >>> print(box)
        [1. 1. 1. 1.]

    Source: OpenSHMEM 1.5, 9.11.1 (shmem_fence); ishmem_fence.
    """
    this = job.current()
    this.default_engine.quiet()
    if not _core.order():
        this.raise_lost("fence")


@fast_path(_core.quiet)
def quiet() -> None:
    """Wait for remote completion of all puts, atomics, stores and nonblocking operations of this PE.

    Not collective, blocking. It does not wait for on-queue operations, nor for copies of contexts by the copy engine.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE of another node is lost, or a wait in a kernel has ended because of a loss.
        LevelZeroError: The device is lost: a kernel failed.
        ValueError, IndexError: A kernel of this PE has called a put or get for which an array is too short.
        IndexError, SymmetryError, ValueError: With ``ISHMEM_CHECK``, the first bad call of this PE's kernels.

    Example:
        >>> box = ishmem.zeros(4)
        >>> ishmem.put_nbi(box, np.ones(4), right)
        >>> ishmem.quiet()  # the data are at the right neighbour

    Source: OpenSHMEM 1.5, 9.11.2 (shmem_quiet); ishmem_quiet.
    """
    this = job.current()
    this.default_engine.quiet()
    if not _core.fence():
        this.raise_lost("quiet")
    this.raise_problems()


def pe_quiet(target_pes: int | Sequence[int]) -> None:
    """Wait for remote completion of all operations of this PE on the PEs ``target_pes``.

    As ``quiet``, it waits for the operations on the other PEs too; for an empty list of PEs it returns at once.
    Not collective, blocking. In kernels the PEs are an integer, a tuple of integers or a 1-D array.

    Args:
        target_pes: A number of a PE, from 0 to ``n_pes() - 1``, or a sequence or array of them.

    Raises:
        IndexError: There is no such PE.
        TypeError: Not integers.
        PeerLost: As for ``quiet``, and if one of the PEs is lost, in a job that continues after losses.
        StateError, LevelZeroError, ValueError, IndexError, SymmetryError: As for ``quiet``.

    Example:
        >>> box = ishmem.zeros(4)
        >>> ishmem.put_nbi(box, np.ones(4), right)
        >>> ishmem.pe_quiet([right])  # the data are at the right neighbour

    Source: OpenSHMEM 1.6, 9.12.3 (shmem_pe_quiet).
    """
    job.current()
    if [check.pe(pe) for pe in listed(target_pes)]:
        quiet()


def flush() -> None:
    """Wait for local completion of the nonblocking operations of this PE.

    Afterwards the source buffers of ``put_nbi`` may be reused, and the results of ``get_nbi`` and of atomics are
    available. It does not wait for remote completion, as ``quiet`` does, nor order deliveries, as ``fence`` does. On
    the host it covers operations of the host; in a kernel those of this work-item, or in ``flush_work_group`` those of
    the group, which are complete already unless ``ISHMEM_SIM_ORDER`` is set. Not collective, blocking.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE of another node is lost.
        LevelZeroError: The device is lost: a kernel failed.

    Example:
        >>> box, data = ishmem.zeros(4), np.ones(4)
        >>> ishmem.put_nbi(box, data, right)
        >>> ishmem.flush()
        >>> data[:] = 2  # the ones are on their way, and arrive by the next quiet

    Source: NVSHMEM 3.7 (flush); not in OpenSHMEM.
    """
    flush_engine(job.current(), None)


def flush_engine(this: job.Job, engine: CopyEngine | None) -> None:
    """Wait for local completion of the core's operations and of the copies of ``engine``, by default the job's own."""
    (engine or this.default_engine).quiet()
    if not _core.flush():
        this.raise_lost("flush")


def listed(target_pes: Any) -> Sequence[Any]:
    """Return ``target_pes``, an integer, sequence or array, as a sequence of PEs; ``TypeError`` for other objects."""
    if arrays.on_device(target_pes):
        target_pes = host_copies.to_host(target_pes)
    if hasattr(target_pes, "__index__") and not getattr(target_pes, "ndim", 0):
        return [target_pes]
    if not hasattr(target_pes, "__iter__"):
        raise TypeError(f"target_pes is a PE number or a sequence of them, got {type(target_pes).__name__}")
    return list(target_pes)


globals().update(work_group_forms(__name__))
