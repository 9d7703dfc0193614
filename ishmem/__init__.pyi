# Written by python -m tools.signatures.
import typing

import dpctl
import dpnp

from . import graph as graph, inference as inference, moe as moe
from .active_sets import active_set as active_set
from .collectives import (
    alltoall as alltoall,
    alltoalls as alltoalls,
    barrier_all as barrier_all,
    broadcast as broadcast,
    collect as collect,
    fcollect as fcollect,
    gather as gather,
    scatter as scatter,
    sync_all as sync_all,
    team_sync as team_sync,
)
from .common.constants import (
    CMP_EQ as CMP_EQ,
    CMP_GE as CMP_GE,
    CMP_GT as CMP_GT,
    CMP_LE as CMP_LE,
    CMP_LT as CMP_LT,
    CMP_NE as CMP_NE,
    CTX_NOSTORE as CTX_NOSTORE,
    CTX_PRIVATE as CTX_PRIVATE,
    CTX_SERIALIZED as CTX_SERIALIZED,
    CTX_SESSION_BATCH as CTX_SESSION_BATCH,
    MALLOC_ATOMICS_REMOTE as MALLOC_ATOMICS_REMOTE,
    MALLOC_SIGNAL_REMOTE as MALLOC_SIGNAL_REMOTE,
    ORDER_ACQUIRE as ORDER_ACQUIRE,
    ORDER_ACQ_REL as ORDER_ACQ_REL,
    ORDER_RELAXED as ORDER_RELAXED,
    ORDER_RELEASE as ORDER_RELEASE,
    SIGNAL_ADD as SIGNAL_ADD,
    SIGNAL_SET as SIGNAL_SET,
    THREAD_FUNNELED as THREAD_FUNNELED,
    THREAD_MULTIPLE as THREAD_MULTIPLE,
    THREAD_SERIALIZED as THREAD_SERIALIZED,
    THREAD_SINGLE as THREAD_SINGLE,
)
from .common.errors import (
    HeapExhausted as HeapExhausted,
    IshmemError as IshmemError,
    LevelZeroError as LevelZeroError,
    PeerLost as PeerLost,
    StateError as StateError,
    SymmetryError as SymmetryError,
    WaitTimeout as WaitTimeout,
)
from .contexts import (
    CTX_DEFAULT as CTX_DEFAULT,
    CTX_INVALID as CTX_INVALID,
    Ctx as Ctx,
    CtxSession as CtxSession,
    ctx_create as ctx_create,
    ctx_session_start as ctx_session_start,
)
from .indexed import ixget as ixget, ixput as ixput
from .interop import deregister as deregister, from_dlpack as from_dlpack, host_view as host_view, register as register
from .locks import clear_lock as clear_lock, lock as lock, set_lock as set_lock, test_lock as test_lock
from .memory import (
    align as align,
    arange as arange,
    array as array,
    calloc as calloc,
    empty as empty,
    free as free,
    free_all as free_all,
    full as full,
    full_like as full_like,
    is_symmetric as is_symmetric,
    malloc as malloc,
    malloc_with_hints as malloc_with_hints,
    ptr as ptr,
    realloc as realloc,
    view as view,
)
from .on_queue import (
    get_on_queue as get_on_queue,
    put_on_queue as put_on_queue,
    put_signal_on_queue as put_signal_on_queue,
    signal_add_on_queue as signal_add_on_queue,
    signal_set_on_queue as signal_set_on_queue,
    signal_wait_until_on_queue as signal_wait_until_on_queue,
    wait_until_on_queue as wait_until_on_queue,
)
from .order import fence as fence, flush as flush, pe_quiet as pe_quiet, quiet as quiet
from .query import (
    addr_accessible as addr_accessible,
    info_get_name as info_get_name,
    info_get_version as info_get_version,
    my_pe as my_pe,
    n_pes as n_pes,
    pe_accessible as pe_accessible,
)
from .rma import g as g, get as get, get_nbi as get_nbi, p as p, put as put, put_nbi as put_nbi
from .setup import (
    finalize as finalize,
    get_uniqueid as get_uniqueid,
    global_exit as global_exit,
    init as init,
    init_thread as init_thread,
    is_initialized as is_initialized,
    query_initialized as query_initialized,
    query_thread as query_thread,
)
from .signals import (
    put_signal as put_signal,
    put_signal_nbi as put_signal_nbi,
    signal_add as signal_add,
    signal_fetch as signal_fetch,
    signal_set as signal_set,
    signal_wait_until as signal_wait_until,
)
from .statics import static as static
from .strided import ibget as ibget, ibput as ibput, iget as iget, iput as iput
from .teams import (
    TEAM_INVALID as TEAM_INVALID,
    TEAM_NODE as TEAM_NODE,
    TEAM_SHARED as TEAM_SHARED,
    TEAM_WORLD as TEAM_WORLD,
    Team as Team,
    TeamConfig as TeamConfig,
    shrink as shrink,
    team_ptr as team_ptr,
    team_translate_pe as team_translate_pe,
)
from .vcollectives import alltoallv as alltoallv, gatherv as gatherv, scatterv as scatterv
from .wait import test as test, wait_until as wait_until
from .work_groups import max_work_groups as max_work_groups, sync_work_groups as sync_work_groups
__version__: str

def empty_like(a: typing.Any, *, dtype: typing.Any = None, order: str = 'C', shape: typing.Any = None) -> dpnp.ndarray:
    """Return a new symmetric array of uninitialised elements, with the shape and dtype of ``a``.

    Collective, blocking. Errors as for ``empty``.

    Args:
        a: An array, whose shape and dtype are the defaults.
        dtype: Another dtype.
        order: Layout in memory, ``"C"`` or ``"F"``.
        shape: Another shape.

    Example:
        >>> b = ishmem.empty_like(np.zeros((2, 3)))

    Source: dpnp.empty_like.
    """

def ones(
    shape: typing.Any, *, dtype: typing.Any = None, order: str = 'C', device: typing.Any = None,
    usm_type: str = 'device', sycl_queue: typing.Any = None,
) -> dpnp.ndarray:
    """Return a new symmetric array of ones.

    Collective, blocking: initialised on every PE when the call returns. Arguments and errors as for ``empty``.

    Args:
        shape: A number of elements, or a tuple of them.
        dtype: Any dtype of dpnp, or its name; by default the device's default floating-point dtype.
        order: Layout in memory, ``"C"`` or ``"F"``.
        device: Leave it out, or pass the device of the heap.
        usm_type: ``"device"``: symmetric arrays are device memory.
        sycl_queue: Leave it out, or pass the queue of the heap.

    Example:
        >>> weights = ishmem.ones((4, 4))

    Source: dpnp.ones.
    """

def ones_like(a: typing.Any, *, dtype: typing.Any = None, order: str = 'C', shape: typing.Any = None) -> dpnp.ndarray:
    """Return a new symmetric array of ones, with the shape and dtype of ``a``.

    Collective, blocking. Errors as for ``empty``.

    Args:
        a: An array, whose shape and dtype are the defaults.
        dtype: Another dtype.
        order: Layout in memory, ``"C"`` or ``"F"``.
        shape: Another shape.

    Example:
        >>> b = ishmem.ones_like(np.zeros(4), dtype="i4")

    Source: dpnp.ones_like.
    """

def zeros(
    shape: typing.Any, *, dtype: typing.Any = None, order: str = 'C', device: typing.Any = None,
    usm_type: str = 'device', sycl_queue: typing.Any = None,
) -> dpnp.ndarray:
    """Return a new symmetric array of zeros.

    Collective, blocking: initialised on every PE when the call returns. Arguments and errors as for ``empty``.

    Args:
        shape: A number of elements, or a tuple of them.
        dtype: Any dtype of dpnp, or its name; by default the device's default floating-point dtype.
        order: Layout in memory, ``"C"`` or ``"F"``.
        device: Leave it out, or pass the device of the heap.
        usm_type: ``"device"``: symmetric arrays are device memory.
        sycl_queue: Leave it out, or pass the queue of the heap.

    Example:
        >>> counters = ishmem.zeros(n, dtype="i8")

    Source: OpenSHMEM 1.5, 9.3.3 (shmem_calloc); ishmem_calloc.
    """

def zeros_like(a: typing.Any, *, dtype: typing.Any = None, order: str = 'C', shape: typing.Any = None) -> dpnp.ndarray:
    """Return a new symmetric array of zeros, with the shape and dtype of ``a``.

    Collective, blocking. Errors as for ``empty``.

    Args:
        a: An array, whose shape and dtype are the defaults.
        dtype: Another dtype.
        order: Layout in memory, ``"C"`` or ``"F"``.
        shape: Another shape.

    Example:
        >>> b = ishmem.zeros_like(np.ones(4))

    Source: dpnp.zeros_like.
    """

def team_destroy(team: Team) -> None:
    """Destroy the team and the contexts created from it.

    Collective over the team, blocking: returns when all members have called. TEAM_INVALID is ignored.

    Args:
        team: A team.

    Example:
        >>> everyone = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)
        >>> ishmem.team_destroy(everyone)

    Source: OpenSHMEM 1.5, 9.4.8 (shmem_team_destroy); ishmem_team_destroy.
    """

def team_get_config(team: Team) -> TeamConfig:
    """Return the configuration of the team; not collective.

    Args:
        team: A team.

    Example:
        >>> everyone = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)
        >>> ishmem.team_get_config(everyone)
        TeamConfig(num_contexts=0)

    Source: OpenSHMEM 1.5, 9.4.4 (shmem_team_get_config); ishmem_team_get_config.
    """

def team_my_pe(team: Team) -> int:
    """Return the number of this PE in the team, or -1 if it is not a member; not collective.

    Args:
        team: A team.

    Example:
        >>> everyone = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)
        >>> ishmem.team_my_pe(everyone) == me
        True

    Source: OpenSHMEM 1.5, 9.4.1 (shmem_team_my_pe); ishmem_team_my_pe.
    """

def team_n_pes(team: Team) -> int:
    """Return the number of PEs of the team, or -1 if this PE is not a member; not collective.

    Args:
        team: A team.

    Example:
        >>> everyone = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)
        >>> ishmem.team_n_pes(everyone) == n
        True

    Source: OpenSHMEM 1.5, 9.4.2 (shmem_team_n_pes); ishmem_team_n_pes.
    """

def team_split_2d(parent_team: Team, xrange: int, *, num_contexts: int = 0) -> tuple[Team, Team]:
    """Split the team as a 2-D grid with rows of ``xrange`` PEs; return the teams of this PE's row and column.

    Collective over the team, blocking. PE ``n`` is in column n % xrange and row n // xrange; the last row, and
    with it the last columns, may be shorter. An ``xrange`` above the size of the team is that size. Splitting
    TEAM_INVALID gives TEAM_INVALID twice. Errors as for ``split_strided``.

    Args:
        parent_team: The team to split; all its PEs call.
        xrange: Number of PEs in a row, at least 1.
        num_contexts: Number of contexts that the program plans to create from the team; a hint.

    Example:
        >>> row, column = ishmem.team_split_2d(ishmem.TEAM_WORLD, 2)
        >>> (row.my_pe(), column.my_pe()) == (me % 2, me // 2)
        True

    Source: OpenSHMEM 1.5, 9.4.7 (shmem_team_split_2d); ishmem_team_split_2d.
    """

def team_split_strided(parent_team: Team, start: int, stride: int, size: int, *, num_contexts: int = 0) -> Team:
    """Split the team: return the new team of its PEs ``start``, ``start + stride``, ..., ``size`` of them.

    Collective over the team, blocking. ``stride`` may be negative, and 0 when ``size`` is 1. Splitting
    TEAM_INVALID gives TEAM_INVALID.

    Args:
        parent_team: The team to split; all its PEs call.
        start: Number of the first PE of the new team in the one to split.
        stride: Stride between PEs of the new team, in PEs of that one; 0 only if ``size`` is 1.
        size: Number of PEs of the new team, at least 1.
        num_contexts: Number of contexts that the program plans to create from the team; a hint.

    Example:
        >>> even = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 2, (n + 1) // 2)
        >>> bool(even) == (me % 2 == 0)
        True

    Source: OpenSHMEM 1.5, 9.4.6 (shmem_team_split_strided); ishmem_team_split_strided.
    """

def alltoall_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``alltoall`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, with a block for each PE; it must not overlap
            ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Size of a block in elements; by default the size of ``source`` divided by that of the team.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.alltoall_work_group(dest, source, group)

    Source: ishmemx_alltoall_work_group.
    """

def alltoalls_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, group: typing.Any, team: int = 0,
) -> int:
    """Run ``alltoalls`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1.
        sst: Stride of ``source`` in elements, at least 1.
        nelems: Number of elements that each PE sends to each.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.alltoalls_work_group(dest, source, dst, sst, nelems, group)

    Source: shmem_alltoalls, in the manner of ishmemx_alltoall_work_group.
    """

def barrier_all_work_group(group: typing.Any) -> None:
    """Run ``barrier_all`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.barrier_all_work_group(group)

    Source: ishmemx_barrier_all_work_group.
    """

def broadcast_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``broadcast`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array or tile, of any dtype of dpnp. It may be ``source`` (in place), but may not
            overlap it in part.
        source: Symmetric contiguous array of the dtype of ``dest``, or tile of its shape.
        root: Number in the team of the PE that has the data.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.broadcast_work_group(dest, source, root, group)

    Source: ishmemx_broadcast_work_group.
    """

def collect_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``collect`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, that holds the elements of all PEs.
        source: Symmetric contiguous array of the dtype of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Size of this PE's block in elements; by default all of ``source``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.collect_work_group(dest, source, group)

    Source: ishmemx_collect_work_group.
    """

def fcollect_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``fcollect`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array or tile, of any dtype of dpnp, with ``nelems`` elements for each PE.
        source: Symmetric contiguous array or tile of the dtype of ``dest``; it may be this PE's block of ``dest``
            (in place). Of tiles, ``dest`` has the columns of ``source`` and its rows for each PE.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Size of a block in elements, the same on every PE; by default all of ``source``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.fcollect_work_group(dest, source, group)

    Source: ishmemx_fcollect_work_group.
    """

def gather_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``gather`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, with ``nelems`` elements for each PE, on every PE.
        source: Symmetric contiguous array of the dtype of ``dest``.
        root: Number in the team of the PE that gets the data.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Size of a block in elements, the same on every PE; by default all of ``source``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.gather_work_group(dest, source, root, group)

    Source: MPI_Gather, in the manner of ishmemx_fcollect_work_group.
    """

def scatter_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``scatter`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest`` with ``nelems`` elements for each PE, on every
            PE.
        root: Number in the team of the PE that has the data.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Size of a block in elements; by default that of ``dest``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.scatter_work_group(dest, source, root, group)

    Source: MPI_Scatter, in the manner of ishmemx_broadcast_work_group.
    """

def sync_all_work_group(group: typing.Any) -> None:
    """Run ``sync_all`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.sync_all_work_group(group)

    Source: ishmemx_sync_all_work_group.
    """

def team_sync_work_group(team: int, group: typing.Any) -> int:
    """Run ``team_sync`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.team_sync_work_group(team, group)

    Source: ishmemx_team_sync_work_group.
    """

def barrier_all_on_queue(
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``barrier_all`` to a queue, as a kernel of one work-item.

    Collective, not blocking: all PEs call such forms in one order.

    Args:
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.barrier_all_on_queue()
            event.wait()

    Source: ishmemx_barrier_all_on_queue.
    """

def fence_on_queue(
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``fence`` to a queue: it orders what was started before its turn and what starts after.

    The on-queue operations of one queue are in order without it. Not collective, not blocking.

    Args:
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.fence_on_queue()
            event.wait()

    Source: shmem_fence, in the manner of ishmemx_quiet_on_queue.
    """

def get_nbi_on_queue(
    dest: typing.Any, source: dpnp.ndarray, pe: int, sycl_queue: dpctl.SyclQueue | None = None,
    depends: list[dpctl.SyclEvent] | None = None, nelems: int | None = None,
) -> dpctl.SyclEvent:
    """Submit ``get_nbi`` to a queue: the same as ``get_on_queue``, which is nonblocking too.

    Not collective, not blocking.

    Args:
        dest: A dpnp or numpy array of this PE, of any dtype of dpnp.
        source: Symmetric array with the dtype and number of elements of ``dest``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.

    Example:
        Between kernels, which take and give events::

            event = ishmem.get_nbi_on_queue(dest, source, pe)
            event.wait()

    Source: ishmemx_get_nbi_on_queue.
    """

def ibget_on_queue(
    dest: typing.Any, source: dpnp.ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``ibget`` to a queue, as a kernel; ``dest`` in host memory must have no gaps between blocks.

    Not collective, not blocking.

    Args:
        dest: C-contiguous dpnp or numpy array of this PE, of any dtype of dpnp.
        source: Symmetric C-contiguous array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least ``bsize`` and at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        bsize: Number of elements of a block.
        nblocks: Number of blocks.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.ibget_on_queue(dest, source, dst, sst, bsize, nblocks, pe)
            event.wait()

    Source: ishmemx_ibget_on_queue.
    """

def ibput_on_queue(
    dest: dpnp.ndarray, source: typing.Any, dst: int, sst: int, bsize: int, nblocks: int, pe: int,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``ibput`` to a queue, as a kernel; ``dest`` in static memory must have no gaps between blocks.

    Not collective, not blocking.

    Args:
        dest: Symmetric C-contiguous array, of any dtype of dpnp.
        source: C-contiguous dpnp or numpy array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least ``bsize`` and at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        bsize: Number of elements of a block.
        nblocks: Number of blocks.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.ibput_on_queue(dest, source, dst, sst, bsize, nblocks, pe)
            event.wait()

    Source: ishmemx_ibput_on_queue.
    """

def iget_on_queue(
    dest: typing.Any, source: dpnp.ndarray, dst: int, sst: int, nelems: int, pe: int,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``iget`` to a queue, as a kernel; ``dest`` in host memory must have stride 1.

    Not collective, not blocking.

    Args:
        dest: C-contiguous dpnp or numpy array of this PE, of any dtype of dpnp.
        source: Symmetric C-contiguous array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        nelems: Number of elements.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.iget_on_queue(dest, source, dst, sst, nelems, pe)
            event.wait()

    Source: ishmemx_iget_on_queue.
    """

def iput_on_queue(
    dest: dpnp.ndarray, source: typing.Any, dst: int, sst: int, nelems: int, pe: int,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``iput`` to a queue, as a kernel; ``dest`` in static memory must have stride 1.

    Not collective, not blocking.

    Args:
        dest: Symmetric C-contiguous array, of any dtype of dpnp.
        source: C-contiguous dpnp or numpy array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        nelems: Number of elements.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.iput_on_queue(dest, source, dst, sst, nelems, pe)
            event.wait()

    Source: ishmemx_iput_on_queue.
    """

def put_nbi_on_queue(
    dest: dpnp.ndarray, source: typing.Any, pe: int, sycl_queue: dpctl.SyclQueue | None = None,
    depends: list[dpctl.SyclEvent] | None = None, nelems: int | None = None,
) -> dpctl.SyclEvent:
    """Submit ``put_nbi`` to a queue: the same as ``put_on_queue``, which is nonblocking too.

    Not collective, not blocking.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: A dpnp or numpy array with the dtype and number of elements of ``dest``, or a scalar for one
            element.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.

    Example:
        Between kernels, which take and give events::

            event = ishmem.put_nbi_on_queue(dest, source, pe)
            event.wait()

    Source: ishmemx_put_nbi_on_queue.
    """

def put_signal_nbi_on_queue(
    dest: dpnp.ndarray, source: typing.Any, sig_addr: dpnp.ndarray, signal: int, sig_op: int, pe: int,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    nelems: int | None = None, index: int | tuple[int, ...] = 0,
) -> dpctl.SyclEvent:
    """Submit ``put_signal_nbi`` to a queue: the same as ``put_signal_on_queue``, which is nonblocking too.

    Not collective, not blocking.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: A dpnp or numpy array with the dtype and number of elements of ``dest``, or a scalar for one
            element.
        sig_addr: Symmetric array of int32, int64, uint32 or uint64; each element is a signal.
        signal: Value to set or add, which the dtype of ``sig_addr`` can hold.
        sig_op: ``SIGNAL_SET`` or ``SIGNAL_ADD``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.
        index: The signal: the number of its element in C order, or a tuple of indices.

    Example:
        Between kernels, which take and give events::

            event = ishmem.put_signal_nbi_on_queue(dest, source, sig_addr, signal, sig_op, pe)
            event.wait()

    Source: ishmemx_put_signal_nbi_on_queue.
    """

def quiet_on_queue(
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``quiet`` to a queue: it completes all operations that were started before its turn.

    Not collective, not blocking.

    Args:
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.quiet_on_queue()
            event.wait()

    Source: ishmemx_quiet_on_queue.
    """

def sync_all_on_queue(
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``sync_all`` to a queue, as a kernel of one work-item.

    Collective, not blocking: all PEs call such forms in one order.

    Args:
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.sync_all_on_queue()
            event.wait()

    Source: ishmemx_sync_all_on_queue.
    """

def team_sync_on_queue(
    team: Team, sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``team_sync`` to a queue, as a kernel of one work-item.

    Collective over the team, not blocking: all PEs call such forms in one order.

    Raises:
        ValueError: This PE is not in the team.
        StateError: Destroyed, or not between ``init`` and ``finalize``.

    Args:
        team: A team.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.team_sync_on_queue(team)
            event.wait()

    Source: ishmemx_team_sync_on_queue.
    """

def wait_until_all_on_queue(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, sycl_queue: dpctl.SyclQueue | None = None,
    depends: list[dpctl.SyclEvent] | None = None, status: typing.Any = None,
) -> dpctl.SyclEvent:
    """Submit ``wait_until_all`` to a queue; the host waits, not a kernel.

    Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        Between kernels, which take and give events::

            event = ishmem.wait_until_all_on_queue(ivars, cmp, cmp_value)
            event.wait()

    Source: ishmemx_wait_until_all_on_queue.
    """

def wait_until_all_vector_on_queue(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, sycl_queue: dpctl.SyclQueue | None = None,
    depends: list[dpctl.SyclEvent] | None = None, status: typing.Any = None,
) -> dpctl.SyclEvent:
    """Submit ``wait_until_all_vector`` to a queue; the host waits, not a kernel.

    Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        Between kernels, which take and give events::

            event = ishmem.wait_until_all_vector_on_queue(ivars, cmp, cmp_values)
            event.wait()

    Source: ishmemx_wait_until_all_vector_on_queue.
    """

def wait_until_any_on_queue(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, ret: typing.Any,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    status: typing.Any = None,
) -> dpctl.SyclEvent:
    """Submit ``wait_until_any`` to a queue; the index is stored in ``ret[0]``, of dtype int64 or uint64.

    Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        ret: A dpnp or numpy array of int64 or uint64; the result goes to its first element.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        Between kernels, which take and give events::

            event = ishmem.wait_until_any_on_queue(ivars, cmp, cmp_value, ret)
            event.wait()

    Source: ishmemx_wait_until_any_on_queue.
    """

def wait_until_any_vector_on_queue(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, ret: typing.Any,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    status: typing.Any = None,
) -> dpctl.SyclEvent:
    """Submit ``wait_until_any_vector`` to a queue; the index is stored in ``ret[0]``, of dtype int64 or uint64.

    Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        ret: A dpnp or numpy array of int64 or uint64; the result goes to its first element.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        Between kernels, which take and give events::

            event = ishmem.wait_until_any_vector_on_queue(ivars, cmp, cmp_values, ret)
            event.wait()

    Source: ishmemx_wait_until_any_vector_on_queue.
    """

def wait_until_some_on_queue(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, ret: typing.Any,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    status: typing.Any = None,
) -> dpctl.SyclEvent:
    """Submit ``wait_until_some`` to a queue; the count is stored in ``ret[0]``, of dtype int64 or uint64.

    Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        ret: A dpnp or numpy array of int64 or uint64; the result goes to its first element.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        Between kernels, which take and give events::

            event = ishmem.wait_until_some_on_queue(ivars, indices, cmp, cmp_value, ret)
            event.wait()

    Source: ishmemx_wait_until_some_on_queue.
    """

def wait_until_some_vector_on_queue(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, ret: typing.Any,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    status: typing.Any = None,
) -> dpctl.SyclEvent:
    """Submit ``wait_until_some_vector`` to a queue; the count is stored in ``ret[0]``, of dtype int64 or uint64.

    Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        ret: A dpnp or numpy array of int64 or uint64; the result goes to its first element.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        Between kernels, which take and give events::

            event = ishmem.wait_until_some_vector_on_queue(ivars, indices, cmp, cmp_values, ret)
            event.wait()

    Source: ishmemx_wait_until_some_vector_on_queue.
    """

def ctx_destroy(ctx: Ctx) -> None:
    """Complete the operations of the context and destroy it.

    CTX_INVALID is ignored. Not collective, blocking.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``.

    Example:
        >>> ctx = ishmem.ctx_create()
        >>> ishmem.ctx_destroy(ctx)

    Source: OpenSHMEM 1.5, 9.5.3 (shmem_ctx_destroy).
    """

def ctx_fence(ctx: Ctx) -> None:
    """Order the delivery of the puts, atomics and stores of the context on each PE.

    CTX_INVALID is ignored. Not collective.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``.

    Example:
        >>> ctx = ishmem.ctx_create()
        >>> ishmem.ctx_fence(ctx)
        >>> ctx.destroy()

    Source: OpenSHMEM 1.5, 9.11.1 (shmem_ctx_fence).
    """

def ctx_flush(ctx: Ctx) -> None:
    """Wait for local completion of the operations of the context: see ``ishmem.flush``.

    It also waits for those of all contexts on PEs of other nodes. CTX_INVALID is ignored. Not collective, blocking.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``.

    Example:
        >>> ctx = ishmem.ctx_create()
        >>> ishmem.ctx_flush(ctx)
        >>> ctx.destroy()

    Source: NVSHMEM 3.7 (flush); not in OpenSHMEM.
    """

def ctx_get_team(ctx: Ctx) -> Team:
    """Return the team of the context, TEAM_INVALID for CTX_INVALID; not collective.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``.

    Example:
        >>> ctx = ishmem.ctx_create()
        >>> ishmem.ctx_get_team(ctx)
        ishmem.TEAM_WORLD
        >>> ctx.destroy()

    Source: OpenSHMEM 1.5, 9.5.4 (shmem_ctx_get_team).
    """

def ctx_pe_quiet(ctx: Ctx, target_pes: int | typing.Sequence[int]) -> None:
    """Wait for remote completion of all operations of the context on some PEs.

    It waits for the operations of the context on the other PEs too. CTX_INVALID is ignored. Not collective,
    blocking.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``.
        target_pes: Numbers of PEs in the team, or one; none is allowed.

    Example:
        >>> ctx = ishmem.ctx_create()
        >>> ishmem.ctx_pe_quiet(ctx, [right])
        >>> ctx.destroy()

    Source: OpenSHMEM 1.6, 9.12.3 (shmem_ctx_pe_quiet).
    """

def ctx_quiet(ctx: Ctx) -> None:
    """Wait for remote completion of all operations of the context, and of no others.

    CTX_INVALID is ignored. Not collective, blocking.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``.

    Example:
        >>> ctx = ishmem.ctx_create()
        >>> ishmem.ctx_quiet(ctx)
        >>> ctx.destroy()

    Source: OpenSHMEM 1.5, 9.11.2 (shmem_ctx_quiet).
    """

def ctx_session_stop(ctx: Ctx) -> None:
    """End the session of the context, if there is one.

    CTX_INVALID is ignored. Not collective.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``.

    Example:
        >>> ctx = ishmem.ctx_create()
        >>> ishmem.ctx_session_stop(ctx)
        >>> ctx.destroy()

    Source: OpenSHMEM 1.6, 9.9.3 (shmem_ctx_session_stop).
    """

def get_nbi_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """Run ``get_nbi`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: A dpnp or numpy array of this PE, of any dtype of dpnp.
        source: Symmetric array with the dtype and number of elements of ``dest``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.get_nbi_work_group(dest, source, pe, group)

    Source: ishmemx_get_nbi_work_group.
    """

def get_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """Run ``get`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: A dpnp or numpy array of this PE, of any dtype of dpnp.
        source: Symmetric array with the dtype and number of elements of ``dest``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.get_work_group(dest, source, pe, group)

    Source: ishmemx_get_work_group.
    """

def put_nbi_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """Run ``put_nbi`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: Array of the dtype of ``dest``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.put_nbi_work_group(dest, source, pe, group)

    Source: ishmemx_put_nbi_work_group.
    """

def put_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """Run ``put`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: Array of the dtype of ``dest``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.put_work_group(dest, source, pe, group)

    Source: ishmemx_put_work_group.
    """

def ibget_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int,
    group: typing.Any,
) -> None:
    """Run ``ibget`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: C-contiguous dpnp or numpy array of this PE, of any dtype of dpnp.
        source: Symmetric C-contiguous array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least ``bsize`` and at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        bsize: Number of elements of a block.
        nblocks: Number of blocks.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.ibget_work_group(dest, source, dst, sst, bsize, nblocks, pe, group)

    Source: ishmemx_ibget_work_group.
    """

def ibput_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int,
    group: typing.Any,
) -> None:
    """Run ``ibput`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Symmetric C-contiguous array, of any dtype of dpnp.
        source: Array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least ``bsize`` and at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        bsize: Number of elements of a block.
        nblocks: Number of blocks.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.ibput_work_group(dest, source, dst, sst, bsize, nblocks, pe, group)

    Source: ishmemx_ibput_work_group.
    """

def iget_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, pe: int, group: typing.Any,
) -> None:
    """Run ``iget`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: C-contiguous dpnp or numpy array of this PE, of any dtype of dpnp.
        source: Symmetric C-contiguous array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        nelems: Number of elements.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.iget_work_group(dest, source, dst, sst, nelems, pe, group)

    Source: ishmemx_iget_work_group.
    """

def iput_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, pe: int, group: typing.Any,
) -> None:
    """Run ``iput`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Symmetric C-contiguous array, of any dtype of dpnp.
        source: Array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1.
        sst: Stride of ``source`` in elements, with the same limits.
        nelems: Number of elements.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.iput_work_group(dest, source, dst, sst, nelems, pe, group)

    Source: ishmemx_iput_work_group.
    """

def ixget_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, indices: typing.Any, pe: int, group: typing.Any,
    mask: typing.Any = None,
) -> None:
    """Run ``ixget`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Contiguous array of one dimension, of any dtype of dpnp, with an element for each index.
        source: Symmetric contiguous array of one dimension of the dtype of ``dest``.
        indices: Array of int32, int64, uint32 or uint64, of one dimension.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        mask: Array of bool or integers with an element for each index; by default all elements move.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.ixget_work_group(dest, source, indices, pe, group)

    Source: ixget, in the manner of ishmemx_iget_work_group; the masked load of Iris.
    """

def ixput_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, indices: typing.Any, pe: int, group: typing.Any,
    mask: typing.Any = None,
) -> None:
    """Run ``ixput`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Symmetric contiguous array of one dimension, of any dtype of dpnp.
        source: Contiguous array of one dimension of the dtype of ``dest``, with an element for each index.
        indices: Array of int32, int64, uint32 or uint64, of one dimension.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        mask: Array of bool or integers with an element for each index; by default all elements move.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.ixput_work_group(dest, source, indices, pe, group)

    Source: ixput, in the manner of ishmemx_iput_work_group; the masked store of Iris.
    """

def atomic_add(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> None:
    """Add ``value`` to an element of ``dest`` on a PE.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_add(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 8]

    Source: OpenSHMEM 1.5, 9.7.1.8 (shmem_atomic_add); ishmem_atomic_add.
    """

def atomic_and(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> None:
    """Set an element of ``dest`` on a PE to its bitwise AND with ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_and(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 1]

    Source: OpenSHMEM 1.5, 9.7.1.10 (shmem_atomic_and); ishmem_atomic_and.
    """

def atomic_compare_swap(
    dest: dpnp.ndarray, cond: typing.Any, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
    order: int = 0,
) -> typing.Any:
    """Set an element of ``dest`` on a PE to ``value`` if it equals ``cond``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        cond: The value that the element must have for the swap.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_compare_swap(a, 5, 9, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.3 (shmem_atomic_compare_swap); ishmem_atomic_compare_swap.
    """

def atomic_compare_swap_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, cond: typing.Any, value: typing.Any, pe: int,
    index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_compare_swap`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        cond: The value that the element must have for the swap.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_compare_swap_nbi(old, a, 5, 9, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.2 (shmem_atomic_compare_swap_nbi); ishmem_atomic_compare_swap_nbi.
    """

def atomic_fetch(source: dpnp.ndarray, pe: int, index: int | tuple[int, ...] = 0, order: int = 0) -> typing.Any:
    """Return an element of ``source`` on a PE, read atomically.

    Not collective, blocking.

    Args:
        source: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch(a, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.1 (shmem_atomic_fetch); ishmem_atomic_fetch.
    """

def atomic_fetch_add(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> typing.Any:
    """Add ``value`` to an element of ``dest`` on a PE; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch_add(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.7 (shmem_atomic_fetch_add); ishmem_atomic_fetch_add.
    """

def atomic_fetch_add_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_fetch_add`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_add_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.5 (shmem_atomic_fetch_add_nbi); ishmem_atomic_fetch_add_nbi.
    """

def atomic_fetch_and(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> typing.Any:
    """Set an element of ``dest`` on a PE to its bitwise AND with ``value``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch_and(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.9 (shmem_atomic_fetch_and); ishmem_atomic_fetch_and.
    """

def atomic_fetch_and_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_fetch_and`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_and_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.6 (shmem_atomic_fetch_and_nbi); ishmem_atomic_fetch_and_nbi.
    """

def atomic_fetch_inc(dest: dpnp.ndarray, pe: int, index: int | tuple[int, ...] = 0, order: int = 0) -> typing.Any:
    """Add one to an element of ``dest`` on a PE; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch_inc(a, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.5 (shmem_atomic_fetch_inc); ishmem_atomic_fetch_inc.
    """

def atomic_fetch_inc_nbi(fetch: typing.Any, dest: dpnp.ndarray, pe: int, index: int | tuple[int, ...] = 0) -> None:
    """Start ``atomic_fetch_inc`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_inc_nbi(old, a, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.4 (shmem_atomic_fetch_inc_nbi); ishmem_atomic_fetch_inc_nbi.
    """

def atomic_fetch_max(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> typing.Any:
    """Set an element of ``dest`` on a PE to the maximum of it and ``value``, NaN if either is; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch_max(a, 3, me)
        5

    Source: Iris (iris.atomic_max); not in OpenSHMEM.
    """

def atomic_fetch_max_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_fetch_max`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_max_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: Iris (iris.atomic_max); not in OpenSHMEM.
    """

def atomic_fetch_min(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> typing.Any:
    """Set an element of ``dest`` on a PE to the minimum of it and ``value``, NaN if either is; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch_min(a, 3, me)
        5

    Source: Iris (iris.atomic_min); not in OpenSHMEM.
    """

def atomic_fetch_min_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_fetch_min`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_min_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: Iris (iris.atomic_min); not in OpenSHMEM.
    """

def atomic_fetch_nbi(fetch: typing.Any, source: dpnp.ndarray, pe: int, index: int | tuple[int, ...] = 0) -> None:
    """Start ``atomic_fetch`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        source: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_nbi(old, a, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.1 (shmem_atomic_fetch_nbi); ishmem_atomic_fetch_nbi.
    """

def atomic_fetch_or(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> typing.Any:
    """Set an element of ``dest`` on a PE to its bitwise OR with ``value``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch_or(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.11 (shmem_atomic_fetch_or); ishmem_atomic_fetch_or.
    """

def atomic_fetch_or_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_fetch_or`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_or_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.7 (shmem_atomic_fetch_or_nbi); ishmem_atomic_fetch_or_nbi.
    """

def atomic_fetch_xor(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> typing.Any:
    """Set an element of ``dest`` on a PE to its bitwise XOR with ``value``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_fetch_xor(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.13 (shmem_atomic_fetch_xor); ishmem_atomic_fetch_xor.
    """

def atomic_fetch_xor_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_fetch_xor`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_fetch_xor_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.8 (shmem_atomic_fetch_xor_nbi); ishmem_atomic_fetch_xor_nbi.
    """

def atomic_inc(dest: dpnp.ndarray, pe: int, index: int | tuple[int, ...] = 0, order: int = 0) -> None:
    """Add one to an element of ``dest`` on a PE.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_inc(a, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 6]

    Source: OpenSHMEM 1.5, 9.7.1.6 (shmem_atomic_inc); ishmem_atomic_inc.
    """

def atomic_max(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> None:
    """Set an element of ``dest`` on a PE to the maximum of it and ``value``, NaN if either is.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_max(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 5]

    Source: Iris (iris.atomic_max); not in OpenSHMEM.
    """

def atomic_min(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> None:
    """Set an element of ``dest`` on a PE to the minimum of it and ``value``, NaN if either is.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_min(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 3]

    Source: Iris (iris.atomic_min); not in OpenSHMEM.
    """

def atomic_or(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> None:
    """Set an element of ``dest`` on a PE to its bitwise OR with ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_or(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 7]

    Source: OpenSHMEM 1.5, 9.7.1.12 (shmem_atomic_or); ishmem_atomic_or.
    """

def atomic_set(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> None:
    """Set an element of ``dest`` on a PE to ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_set(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 3]

    Source: OpenSHMEM 1.5, 9.7.1.2 (shmem_atomic_set); ishmem_atomic_set.
    """

def atomic_swap(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> typing.Any:
    """Set an element of ``dest`` on a PE to ``value``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_swap(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.4 (shmem_atomic_swap); ishmem_atomic_swap.
    """

def atomic_swap_nbi(
    fetch: typing.Any, dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0,
) -> None:
    """Start ``atomic_swap`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype='i8'), np.empty(1, 'i8')
        >>> ishmem.atomic_swap_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.3 (shmem_atomic_swap_nbi); ishmem_atomic_swap_nbi.
    """

def atomic_xor(
    dest: dpnp.ndarray, value: typing.Any, pe: int, index: int | tuple[int, ...] = 0, order: int = 0,
) -> None:
    """Set an element of ``dest`` on a PE to its bitwise XOR with ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype='i8')
        >>> ishmem.atomic_xor(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 6]

    Source: OpenSHMEM 1.5, 9.7.1.14 (shmem_atomic_xor); ishmem_atomic_xor.
    """

def put_signal_nbi_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, sig_addr: dpnp.ndarray, signal: int, sig_op: int, pe: int,
    group: typing.Any, nelems: int | None = None, index: int | tuple[int, ...] = 0,
) -> None:
    """Run ``put_signal_nbi`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: Array of the dtype of ``dest``.
        sig_addr: Symmetric array of int32, int64, uint32 or uint64; each element is a signal.
        signal: Value to set or add, which the dtype of ``sig_addr`` can hold.
        sig_op: ``SIGNAL_SET`` or ``SIGNAL_ADD``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.
        index: The signal: the number of its element in C order, or a tuple of indices.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.put_signal_nbi_work_group(dest, source, sig_addr, signal, sig_op, pe, group)

    Source: ishmemx_put_signal_nbi_work_group.
    """

def put_signal_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, sig_addr: dpnp.ndarray, signal: int, sig_op: int, pe: int,
    group: typing.Any, nelems: int | None = None, index: int | tuple[int, ...] = 0,
) -> None:
    """Run ``put_signal`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: Array of the dtype of ``dest``.
        sig_addr: Symmetric array of int32, int64, uint32 or uint64; each element is a signal.
        signal: Value to set or add, which the dtype of ``sig_addr`` can hold.
        sig_op: ``SIGNAL_SET`` or ``SIGNAL_ADD``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.
        index: The signal: the number of its element in C order, or a tuple of indices.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.put_signal_work_group(dest, source, sig_addr, signal, sig_op, pe, group)

    Source: ishmemx_put_signal_work_group.
    """

def signal_wait_until_work_group(
    sig_addr: dpnp.ndarray, cmp: int, cmp_value: int, group: typing.Any, index: int | tuple[int, ...] = 0,
) -> int:
    """Run ``signal_wait_until`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        sig_addr: Symmetric array of int32, int64, uint32 or uint64; each element is a signal.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        index: The signal: the number of its element in C order, or a tuple of indices.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.signal_wait_until_work_group(sig_addr, cmp, cmp_value, group)

    Source: ishmemx_signal_wait_until_work_group.
    """

def test_work_group(
    ivar: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, index: int | tuple[int, ...] = 0,
) -> bool:
    """Run ``test`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivar: Symmetric array of int32, int64, uint32 or uint64; this PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.test_work_group(ivar, cmp, cmp_value, group)

    Source: ishmemx_test_work_group.
    """

def wait_until_work_group(
    ivar: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, index: int | tuple[int, ...] = 0,
) -> None:
    """Run ``wait_until`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        ivar: Symmetric array of int32, int64, uint32 or uint64; this PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.wait_until_work_group(ivar, cmp, cmp_value, group)

    Source: ishmemx_wait_until_work_group.
    """

def test_all(ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, status: typing.Any = None) -> bool:
    """Return whether every variable of the wait set satisfies the comparison with ``cmp_value``.

    True for an empty set. Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.test_all(flags, ishmem.CMP_EQ, 1)
        True

    Source: OpenSHMEM 1.5, 9.10.9 (shmem_test_all); ishmem_test_all.
    """

def test_all_vector(ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, status: typing.Any = None) -> bool:
    """Return whether every ``ivars[i]`` satisfies the comparison with ``cmp_values[i]``.

    True for an empty set. Not collective, not blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.test_all_vector(flags, ishmem.CMP_EQ, np.ones(3, 'i8'))
        True

    Source: OpenSHMEM 1.5, 9.10.12 (shmem_test_all_vector); ishmem_test_all_vector.
    """

def test_all_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> bool:
    """Run ``test_all_vector`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.test_all_vector_work_group(ivars, cmp, cmp_values, group)

    Source: ishmemx_test_all_vector_work_group.
    """

def test_all_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> bool:
    """Run ``test_all`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.test_all_work_group(ivars, cmp, cmp_value, group)

    Source: ishmemx_test_all_work_group.
    """

def test_any(ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, status: typing.Any = None) -> int:
    """Return the index of any variable of the wait set that satisfies the comparison with ``cmp_value``, or -1.

    Which of several is unspecified, but repeated calls return each of them eventually. Not collective, not
    blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.test_any(flags, ishmem.CMP_EQ, 1) in (0, 1, 2)
        True

    Source: OpenSHMEM 1.5, 9.10.10 (shmem_test_any); ishmem_test_any.
    """

def test_any_vector(ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, status: typing.Any = None) -> int:
    """Return the index of any ``ivars[i]`` that satisfies the comparison with ``cmp_values[i]``, or -1.

    Which of several is unspecified, but repeated calls return each of them eventually. Not collective, not
    blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.test_any_vector(flags, ishmem.CMP_EQ, np.array([1, 2, 1])) in (0, 2)
        True

    Source: OpenSHMEM 1.5, 9.10.13 (shmem_test_any_vector); ishmem_test_any_vector.
    """

def test_any_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """Run ``test_any_vector`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.test_any_vector_work_group(ivars, cmp, cmp_values, group)

    Source: ishmemx_test_any_vector_work_group.
    """

def test_any_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """Run ``test_any`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.test_any_work_group(ivars, cmp, cmp_value, group)

    Source: ishmemx_test_any_work_group.
    """

def test_some(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, status: typing.Any = None,
) -> int:
    """Return how many variables of the wait set satisfy the comparison with ``cmp_value``.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Not collective, not
    blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> indices = np.empty(3, 'i8')
        >>> ishmem.test_some(flags, indices, ishmem.CMP_EQ, 1)
        3

    Source: OpenSHMEM 1.5, 9.10.11 (shmem_test_some); ishmem_test_some.
    """

def test_some_vector(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, status: typing.Any = None,
) -> int:
    """Return how many ``ivars[i]`` satisfy the comparison with ``cmp_values[i]``.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Not collective, not
    blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> indices = np.empty(3, 'i8')
        >>> ishmem.test_some_vector(flags, indices, ishmem.CMP_EQ, np.array([1, 2, 1]))
        2

    Source: OpenSHMEM 1.5, 9.10.14 (shmem_test_some_vector); ishmem_test_some_vector.
    """

def test_some_vector_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, group: typing.Any,
    status: typing.Any = None,
) -> int:
    """Run ``test_some_vector`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.test_some_vector_work_group(ivars, indices, cmp, cmp_values, group)

    Source: ishmemx_test_some_vector_work_group.
    """

def test_some_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, group: typing.Any,
    status: typing.Any = None,
) -> int:
    """Run ``test_some`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.test_some_work_group(ivars, indices, cmp, cmp_value, group)

    Source: ishmemx_test_some_work_group.
    """

def wait_until_all(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, status: typing.Any = None, timeout: float | None = None,
) -> None:
    """Wait until every variable of the wait set satisfies the comparison with ``cmp_value``.

    Returns at once for an empty set. Not collective, blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.
        timeout: Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.wait_until_all(flags, ishmem.CMP_EQ, 1)

    Source: OpenSHMEM 1.5, 9.10.2 (shmem_wait_until_all); ishmem_wait_until_all.
    """

def wait_until_all_vector(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, status: typing.Any = None, timeout: float | None = None,
) -> None:
    """Wait until every ``ivars[i]`` satisfies the comparison with ``cmp_values[i]``.

    Returns at once for an empty set. Not collective, blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.
        timeout: Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.wait_until_all_vector(flags, ishmem.CMP_EQ, np.ones(3, 'i8'))

    Source: OpenSHMEM 1.5, 9.10.5 (shmem_wait_until_all_vector); ishmem_wait_until_all_vector.
    """

def wait_until_all_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> None:
    """Run ``wait_until_all_vector`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.wait_until_all_vector_work_group(ivars, cmp, cmp_values, group)

    Source: ishmemx_wait_until_all_vector_work_group.
    """

def wait_until_all_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> None:
    """Run ``wait_until_all`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.wait_until_all_work_group(ivars, cmp, cmp_value, group)

    Source: ishmemx_wait_until_all_work_group.
    """

def wait_until_any(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, status: typing.Any = None, timeout: float | None = None,
) -> int:
    """Wait until any variable of the wait set satisfies the comparison with ``cmp_value``; return its index.

    Which of several is unspecified, but repeated calls return each of them eventually. Returns -1 at once for an
    empty set. Not collective, blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.
        timeout: Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.wait_until_any(flags, ishmem.CMP_EQ, 1) in (0, 1, 2)
        True

    Source: OpenSHMEM 1.5, 9.10.3 (shmem_wait_until_any); ishmem_wait_until_any.
    """

def wait_until_any_vector(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, status: typing.Any = None, timeout: float | None = None,
) -> int:
    """Wait until any ``ivars[i]`` satisfies the comparison with ``cmp_values[i]``; return its index.

    Which of several is unspecified, but repeated calls return each of them eventually. Returns -1 at once for an
    empty set. Not collective, blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.
        timeout: Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> ishmem.wait_until_any_vector(flags, ishmem.CMP_EQ, np.array([1, 2, 1])) in (0, 2)
        True

    Source: OpenSHMEM 1.5, 9.10.6 (shmem_wait_until_any_vector); ishmem_wait_until_any_vector.
    """

def wait_until_any_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """Run ``wait_until_any_vector`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.wait_until_any_vector_work_group(ivars, cmp, cmp_values, group)

    Source: ishmemx_wait_until_any_vector_work_group.
    """

def wait_until_any_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """Run ``wait_until_any`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.wait_until_any_work_group(ivars, cmp, cmp_value, group)

    Source: ishmemx_wait_until_any_work_group.
    """

def wait_until_some(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, status: typing.Any = None,
    timeout: float | None = None,
) -> int:
    """Wait until at least one variable of the wait set satisfies the comparison with ``cmp_value``; return how many do.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Returns 0 at once
    for an empty set. Not collective, blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.
        timeout: Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> indices = np.empty(3, 'i8')
        >>> ishmem.wait_until_some(flags, indices, ishmem.CMP_EQ, 1)
        3

    Source: OpenSHMEM 1.5, 9.10.4 (shmem_wait_until_some); ishmem_wait_until_some.
    """

def wait_until_some_vector(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, status: typing.Any = None,
    timeout: float | None = None,
) -> int:
    """Wait until at least one ``ivars[i]`` satisfies the comparison with ``cmp_values[i]``; return how many do.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Returns 0 at once
    for an empty set. Not collective, blocking.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.
        timeout: Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.

    Example:
        >>> flags = ishmem.ones(3, dtype='i8')
        >>> indices = np.empty(3, 'i8')
        >>> ishmem.wait_until_some_vector(flags, indices, ishmem.CMP_EQ, np.array([1, 2, 1]))
        2

    Source: OpenSHMEM 1.5, 9.10.7 (shmem_wait_until_some_vector); ishmem_wait_until_some_vector.
    """

def wait_until_some_vector_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, group: typing.Any,
    status: typing.Any = None,
) -> int:
    """Run ``wait_until_some_vector`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_values: A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.wait_until_some_vector_work_group(ivars, indices, cmp, cmp_values, group)

    Source: ishmemx_wait_until_some_vector_work_group.
    """

def wait_until_some_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, group: typing.Any,
    status: typing.Any = None,
) -> int:
    """Run ``wait_until_some`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Args:
        ivars: Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this
            PE's own copy is read.
        indices: A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold, for all variables.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        status: A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by
            default all are.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.wait_until_some_work_group(ivars, indices, cmp, cmp_value, group)

    Source: ishmemx_wait_until_some_work_group.
    """

def fence_work_group(group: typing.Any) -> None:
    """Run ``fence`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.fence_work_group(group)

    Source: ishmemx_fence_work_group.
    """

def flush_work_group(group: typing.Any) -> None:
    """Run ``flush`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.flush_work_group(group)

    Source: NVSHMEM 3.7 (flush), in the manner of ishmemx_quiet_work_group.
    """

def quiet_work_group(group: typing.Any) -> None:
    """Run ``quiet`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Args:
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.quiet_work_group(group)

    Source: ishmemx_quiet_work_group.
    """

def alltoall_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``alltoall`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, with a block for each PE; it must not overlap
            ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``.
        team: A team; by default all PEs.
        nelems: Size of a block in elements; by default the size of ``source`` divided by that of the team.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.alltoall_on_queue(dest, source)
            event.wait()

    Source: ishmemx_alltoall_on_queue.
    """

def alltoalls_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, team: Team = TEAM_WORLD,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``alltoalls`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1.
        sst: Stride of ``source`` in elements, at least 1.
        nelems: Number of elements that each PE sends to each.
        team: A team; by default all PEs.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.alltoalls_on_queue(dest, source, dst, sst, nelems)
            event.wait()

    Source: shmem_alltoalls, in the manner of ishmemx_alltoall_on_queue.
    """

def alltoallv_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, dest_counts: typing.Sequence[int],
    source_counts: typing.Sequence[int], dest_displs: typing.Sequence[int] | None = None,
    source_displs: typing.Sequence[int] | None = None, team: Team = TEAM_WORLD,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``alltoallv`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        dest_counts: Number of elements to receive from each PE. A sequence of integers, one for each PE of the
            team; in kernels a contiguous device array of int64.
        source_counts: Number of elements to send to each PE; as ``dest_counts``.
        dest_displs: Where the block from each PE starts in ``dest``; by default blocks are contiguous.
        source_displs: Where the block for each PE starts in ``source``; by default blocks are contiguous.
        team: A team; by default all PEs.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.alltoallv_on_queue(dest, source, dest_counts, source_counts)
            event.wait()

    Source: MPI_Alltoallv, in the manner of ishmemx_alltoall_on_queue.
    """

def and_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``and_reduce`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.and_reduce_on_queue(dest, source)
            event.wait()

    Source: ishmemx_and_reduce_on_queue.
    """

def broadcast_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``broadcast`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array or tile, of any dtype of dpnp. It may be ``source`` (in place), but may not
            overlap it in part.
        source: Symmetric contiguous array of the dtype of ``dest``, or tile of its shape.
        root: Number in the team of the PE that has the data.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.broadcast_on_queue(dest, source, root)
            event.wait()

    Source: ishmemx_broadcast_on_queue.
    """

def collect_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``collect`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, that holds the elements of all PEs.
        source: Symmetric contiguous array of the dtype of ``dest``.
        team: A team; by default all PEs.
        nelems: Size of this PE's block in elements; by default all of ``source``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.collect_on_queue(dest, source)
            event.wait()

    Source: ishmemx_collect_on_queue.
    """

def fcollect_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``fcollect`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array or tile, of any dtype of dpnp, with ``nelems`` elements for each PE.
        source: Symmetric contiguous array or tile of the dtype of ``dest``; it may be this PE's block of ``dest``
            (in place). Of tiles, ``dest`` has the columns of ``source`` and its rows for each PE.
        team: A team; by default all PEs.
        nelems: Size of a block in elements, the same on every PE; by default all of ``source``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.fcollect_on_queue(dest, source)
            event.wait()

    Source: ishmemx_fcollect_on_queue.
    """

def gather_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``gather`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, with ``nelems`` elements for each PE, on every PE.
        source: Symmetric contiguous array of the dtype of ``dest``.
        root: Number in the team of the PE that gets the data.
        team: A team; by default all PEs.
        nelems: Size of a block in elements, the same on every PE; by default all of ``source``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.gather_on_queue(dest, source, root)
            event.wait()

    Source: MPI_Gather, in the manner of ishmemx_fcollect_on_queue.
    """

def gatherv_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: typing.Sequence[int], root: int,
    displs: typing.Sequence[int] | None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None,
    depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``gatherv`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        counts: Number of elements of each PE, the same list on all PEs. A sequence of integers, one for each PE of
            the team; in kernels a contiguous device array of int64.
        root: Number in the team of the PE that gets the data.
        displs: Where the block of each PE starts; by default blocks are contiguous.
        team: A team; by default all PEs.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.gatherv_on_queue(dest, source, counts, root)
            event.wait()

    Source: MPI_Gatherv, in the manner of ishmemx_collect_on_queue.
    """

def max_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    dtype: str | None = None,
) -> dpctl.SyclEvent:
    """Submit ``max_reduce`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        Between kernels, which take and give events::

            event = ishmem.max_reduce_on_queue(dest, source)
            event.wait()

    Source: ishmemx_max_reduce_on_queue.
    """

def min_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    dtype: str | None = None,
) -> dpctl.SyclEvent:
    """Submit ``min_reduce`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        Between kernels, which take and give events::

            event = ishmem.min_reduce_on_queue(dest, source)
            event.wait()

    Source: ishmemx_min_reduce_on_queue.
    """

def or_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``or_reduce`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.or_reduce_on_queue(dest, source)
            event.wait()

    Source: ishmemx_or_reduce_on_queue.
    """

def prod_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    dtype: str | None = None,
) -> dpctl.SyclEvent:
    """Submit ``prod_reduce`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32, float64, complex64 or
            complex128. It may be ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        Between kernels, which take and give events::

            event = ishmem.prod_reduce_on_queue(dest, source)
            event.wait()

    Source: ishmemx_prod_reduce_on_queue.
    """

def scatter_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``scatter`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest`` with ``nelems`` elements for each PE, on every
            PE.
        root: Number in the team of the PE that has the data.
        team: A team; by default all PEs.
        nelems: Size of a block in elements; by default that of ``dest``.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.scatter_on_queue(dest, source, root)
            event.wait()

    Source: MPI_Scatter, in the manner of ishmemx_broadcast_on_queue.
    """

def scatterv_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: typing.Sequence[int], root: int,
    displs: typing.Sequence[int] | None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None,
    depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``scatterv`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        counts: Number of elements of each PE, the same list on all PEs. A sequence of integers, one for each PE of
            the team; in kernels a contiguous device array of int64.
        root: Number in the team of the PE that has the data.
        displs: Where the block of each PE starts; by default blocks are contiguous.
        team: A team; by default all PEs.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.scatterv_on_queue(dest, source, counts, root)
            event.wait()

    Source: MPI_Scatterv, in the manner of ishmemx_broadcast_on_queue.
    """

def sum_exscan_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    dtype: str | None = None,
) -> dpctl.SyclEvent:
    """Submit ``sum_exscan`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        Between kernels, which take and give events::

            event = ishmem.sum_exscan_on_queue(dest, source)
            event.wait()

    Source: ishmemx_sum_exscan_on_queue.
    """

def sum_inscan_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    dtype: str | None = None,
) -> dpctl.SyclEvent:
    """Submit ``sum_inscan`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        Between kernels, which take and give events::

            event = ishmem.sum_inscan_on_queue(dest, source)
            event.wait()

    Source: ishmemx_sum_inscan_on_queue.
    """

def sum_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
    dtype: str | None = None,
) -> dpctl.SyclEvent:
    """Submit ``sum_reduce`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32, float64, complex64 or
            complex128. It may be ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        Between kernels, which take and give events::

            event = ishmem.sum_reduce_on_queue(dest, source)
            event.wait()

    Source: ishmemx_sum_reduce_on_queue.
    """

def xor_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """Submit ``xor_reduce`` to a queue.

    Collective over the team, not blocking.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        sycl_queue: Queue of the heap's device and context; by default the heap's own.
        depends: Events that must have completed before the operation starts; by default none.

    Example:
        Between kernels, which take and give events::

            event = ishmem.xor_reduce_on_queue(dest, source)
            event.wait()

    Source: ishmemx_xor_reduce_on_queue.
    """

def alltoallv_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dest_counts: dpnp.ndarray, source_counts: dpnp.ndarray,
    group: typing.Any, dest_displs: dpnp.ndarray | None = None, source_displs: dpnp.ndarray | None = None,
    team: int = 0,
) -> int:
    """Run ``alltoallv`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        dest_counts: Number of elements to receive from each PE. A sequence of integers, one for each PE of the
            team; in kernels a contiguous device array of int64.
        source_counts: Number of elements to send to each PE; as ``dest_counts``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        dest_displs: Where the block from each PE starts in ``dest``; by default blocks are contiguous.
        source_displs: Where the block for each PE starts in ``source``; by default blocks are contiguous.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.alltoallv_work_group(dest, source, dest_counts, source_counts, group)

    Source: MPI_Alltoallv, in the manner of ishmemx_alltoall_work_group.
    """

def gatherv_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: dpnp.ndarray, root: int, group: typing.Any,
    displs: dpnp.ndarray | None = None, team: int = 0,
) -> int:
    """Run ``gatherv`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        counts: Number of elements of each PE, the same list on all PEs. A sequence of integers, one for each PE of
            the team; in kernels a contiguous device array of int64.
        root: Number in the team of the PE that gets the data.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        displs: Where the block of each PE starts; by default blocks are contiguous.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.gatherv_work_group(dest, source, counts, root, group)

    Source: MPI_Gatherv, in the manner of ishmemx_collect_work_group.
    """

def scatterv_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: dpnp.ndarray, root: int, group: typing.Any,
    displs: dpnp.ndarray | None = None, team: int = 0,
) -> int:
    """Run ``scatterv`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp.
        source: Symmetric contiguous array of the dtype of ``dest``.
        counts: Number of elements of each PE, the same list on all PEs. A sequence of integers, one for each PE of
            the team; in kernels a contiguous device array of int64.
        root: Number in the team of the PE that has the data.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        displs: Where the block of each PE starts; by default blocks are contiguous.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.scatterv_work_group(dest, source, counts, root, group)

    Source: MPI_Scatterv, in the manner of ishmemx_broadcast_work_group.
    """

def and_reduce(dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Combine ``source`` elementwise by bitwise AND over all members of a team, into ``dest`` of every member.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        >>> a = ishmem.full(4, 1, dtype='i4')
        >>> ishmem.and_reduce(a, a)
        >>> bool((a == 1).all())
        True

    Source: OpenSHMEM 1.5, 9.9.9 (shmem_and_reduce); ishmem_and_reduce.
    """

def and_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``and_reduce`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.and_reduce_work_group(dest, source, group)

    Source: ishmemx_and_reduce_work_group.
    """

def max_reduce(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    dtype: str | None = None,
) -> None:
    """Take the elementwise maximum of ``source`` over all members of a team, into ``dest`` of every member.

    NaN where any element is NaN.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        >>> a = ishmem.full(4, me, dtype='i4')
        >>> ishmem.max_reduce(a, a)
        >>> bool((a == n - 1).all())
        True

    Source: OpenSHMEM 1.5, 9.9.9 (shmem_max_reduce); ishmem_max_reduce.
    """

def max_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``max_reduce`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.max_reduce_work_group(dest, source, group)

    Source: ishmemx_max_reduce_work_group.
    """

def min_reduce(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    dtype: str | None = None,
) -> None:
    """Take the elementwise minimum of ``source`` over all members of a team, into ``dest`` of every member.

    NaN where any element is NaN.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        >>> a = ishmem.full(4, me, dtype='i4')
        >>> ishmem.min_reduce(a, a)
        >>> bool((a == 0).all())
        True

    Source: OpenSHMEM 1.5, 9.9.9 (shmem_min_reduce); ishmem_min_reduce.
    """

def min_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``min_reduce`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.min_reduce_work_group(dest, source, group)

    Source: ishmemx_min_reduce_work_group.
    """

def or_reduce(dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Combine ``source`` elementwise by bitwise OR over all members of a team, into ``dest`` of every member.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        >>> a = ishmem.full(4, 1, dtype='i4')
        >>> ishmem.or_reduce(a, a)
        >>> bool((a == 1).all())
        True

    Source: OpenSHMEM 1.5, 9.9.9 (shmem_or_reduce); ishmem_or_reduce.
    """

def or_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``or_reduce`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.or_reduce_work_group(dest, source, group)

    Source: ishmemx_or_reduce_work_group.
    """

def prod_reduce(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    dtype: str | None = None,
) -> None:
    """Multiply ``source`` elementwise over all members of a team, into ``dest`` of every member.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32, float64, complex64 or
            complex128. It may be ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        >>> a = ishmem.full(4, 1, dtype='i4')
        >>> ishmem.prod_reduce(a, a)
        >>> bool((a == 1).all())
        True

    Source: OpenSHMEM 1.5, 9.9.9 (shmem_prod_reduce); ishmem_prod_reduce.
    """

def prod_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``prod_reduce`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32, float64, complex64 or
            complex128. It may be ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.prod_reduce_work_group(dest, source, group)

    Source: ishmemx_prod_reduce_work_group.
    """

def sum_exscan(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    dtype: str | None = None,
) -> None:
    """Compute the exclusive prefix sum of ``source`` over the members of a team, elementwise.

    ``dest`` of member ``i`` is the sum over members 0 to ``i - 1``.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        >>> a = ishmem.full(4, 1, dtype='i4')
        >>> ishmem.sum_exscan(a, a)
        >>> bool((a == me).all())
        True

    Source: Intel SHMEM, ishmem_sum_exscan.
    """

def sum_exscan_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``sum_exscan`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.sum_exscan_work_group(dest, source, group)

    Source: ishmem_sum_exscan, in the manner of ishmemx_sum_reduce_work_group.
    """

def sum_inscan(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    dtype: str | None = None,
) -> None:
    """Compute the inclusive prefix sum of ``source`` over the members of a team, elementwise.

    ``dest`` of member ``i`` is the sum over members 0 to ``i``.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        >>> a = ishmem.full(4, 1, dtype='i4')
        >>> ishmem.sum_inscan(a, a)
        >>> bool((a == me + 1).all())
        True

    Source: Intel SHMEM, ishmem_sum_inscan.
    """

def sum_inscan_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``sum_inscan`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32 or float64. It may be
            ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.sum_inscan_work_group(dest, source, group)

    Source: ishmem_sum_inscan, in the manner of ishmemx_sum_reduce_work_group.
    """

def sum_reduce(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None,
    dtype: str | None = None,
) -> None:
    """Sum ``source`` elementwise over all members of a team, into ``dest`` of every member.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32, float64, complex64 or
            complex128. It may be ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.
        dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.

    Example:
        >>> a = ishmem.full(4, 1, dtype='i4')
        >>> ishmem.sum_reduce(a, a)
        >>> bool((a == n).all())
        True

    Source: OpenSHMEM 1.5, 9.9.9 (shmem_sum_reduce); ishmem_sum_reduce.
    """

def sum_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``sum_reduce`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype, bfloat16, float16, float32, float64, complex64 or
            complex128. It may be ``source`` (in place), but may not overlap it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.sum_reduce_work_group(dest, source, group)

    Source: ishmemx_sum_reduce_work_group.
    """

def xor_reduce(dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Combine ``source`` elementwise by bitwise XOR over all members of a team, into ``dest`` of every member.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        >>> a = ishmem.full(4, 1, dtype='i4')
        >>> ishmem.xor_reduce(a, a)
        >>> bool((a == n % 2).all())
        True

    Source: OpenSHMEM 1.5, 9.9.9 (shmem_xor_reduce); ishmem_xor_reduce.
    """

def xor_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """Run ``xor_reduce`` jointly by all work-items of a work-group; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Args:
        dest: Symmetric contiguous array of any integer dtype. It may be ``source`` (in place), but may not overlap
            it in part.
        source: Symmetric contiguous array of the dtype and size of ``dest``.
        group: The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.
        team: A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.
        nelems: Number of elements, from the start of both arrays; by default all of them.

    Example:
        In a kernel, with ``group = item.get_group()``::

            ishmem.xor_reduce_work_group(dest, source, group)

    Source: ishmemx_xor_reduce_work_group.
    """
