# Written by python -m tools.signatures.
import typing

import dpctl
import dpnp

from . import graph as graph, inference as inference, moe as moe
from .active_sets import active_set as active_set
from .amo import (
    atomic_add as atomic_add,
    atomic_and as atomic_and,
    atomic_compare_swap as atomic_compare_swap,
    atomic_compare_swap_nbi as atomic_compare_swap_nbi,
    atomic_fetch as atomic_fetch,
    atomic_fetch_add as atomic_fetch_add,
    atomic_fetch_add_nbi as atomic_fetch_add_nbi,
    atomic_fetch_and as atomic_fetch_and,
    atomic_fetch_and_nbi as atomic_fetch_and_nbi,
    atomic_fetch_inc as atomic_fetch_inc,
    atomic_fetch_inc_nbi as atomic_fetch_inc_nbi,
    atomic_fetch_max as atomic_fetch_max,
    atomic_fetch_max_nbi as atomic_fetch_max_nbi,
    atomic_fetch_min as atomic_fetch_min,
    atomic_fetch_min_nbi as atomic_fetch_min_nbi,
    atomic_fetch_nbi as atomic_fetch_nbi,
    atomic_fetch_or as atomic_fetch_or,
    atomic_fetch_or_nbi as atomic_fetch_or_nbi,
    atomic_fetch_xor as atomic_fetch_xor,
    atomic_fetch_xor_nbi as atomic_fetch_xor_nbi,
    atomic_inc as atomic_inc,
    atomic_max as atomic_max,
    atomic_min as atomic_min,
    atomic_or as atomic_or,
    atomic_set as atomic_set,
    atomic_swap as atomic_swap,
    atomic_swap_nbi as atomic_swap_nbi,
    atomic_xor as atomic_xor,
)
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
    ctx_destroy as ctx_destroy,
    ctx_fence as ctx_fence,
    ctx_flush as ctx_flush,
    ctx_get_team as ctx_get_team,
    ctx_pe_quiet as ctx_pe_quiet,
    ctx_quiet as ctx_quiet,
    ctx_session_start as ctx_session_start,
    ctx_session_stop as ctx_session_stop,
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
    empty_like as empty_like,
    free as free,
    free_all as free_all,
    full as full,
    full_like as full_like,
    is_symmetric as is_symmetric,
    malloc as malloc,
    malloc_with_hints as malloc_with_hints,
    ones as ones,
    ones_like as ones_like,
    ptr as ptr,
    realloc as realloc,
    view as view,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .on_queue import (
    barrier_all_on_queue as barrier_all_on_queue,
    fence_on_queue as fence_on_queue,
    get_nbi_on_queue as get_nbi_on_queue,
    get_on_queue as get_on_queue,
    ibget_on_queue as ibget_on_queue,
    ibput_on_queue as ibput_on_queue,
    iget_on_queue as iget_on_queue,
    iput_on_queue as iput_on_queue,
    put_nbi_on_queue as put_nbi_on_queue,
    put_on_queue as put_on_queue,
    put_signal_nbi_on_queue as put_signal_nbi_on_queue,
    put_signal_on_queue as put_signal_on_queue,
    quiet_on_queue as quiet_on_queue,
    signal_add_on_queue as signal_add_on_queue,
    signal_set_on_queue as signal_set_on_queue,
    signal_wait_until_on_queue as signal_wait_until_on_queue,
    sync_all_on_queue as sync_all_on_queue,
    team_sync_on_queue as team_sync_on_queue,
    wait_until_all_on_queue as wait_until_all_on_queue,
    wait_until_all_vector_on_queue as wait_until_all_vector_on_queue,
    wait_until_any_on_queue as wait_until_any_on_queue,
    wait_until_any_vector_on_queue as wait_until_any_vector_on_queue,
    wait_until_on_queue as wait_until_on_queue,
    wait_until_some_on_queue as wait_until_some_on_queue,
    wait_until_some_vector_on_queue as wait_until_some_vector_on_queue,
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
from .reductions import (
    and_reduce as and_reduce,
    max_reduce as max_reduce,
    min_reduce as min_reduce,
    or_reduce as or_reduce,
    prod_reduce as prod_reduce,
    sum_exscan as sum_exscan,
    sum_inscan as sum_inscan,
    sum_reduce as sum_reduce,
    xor_reduce as xor_reduce,
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
    team_destroy as team_destroy,
    team_get_config as team_get_config,
    team_my_pe as team_my_pe,
    team_n_pes as team_n_pes,
    team_ptr as team_ptr,
    team_split_2d as team_split_2d,
    team_split_strided as team_split_strided,
    team_translate_pe as team_translate_pe,
)
from .vcollectives import alltoallv as alltoallv, gatherv as gatherv, scatterv as scatterv
from .wait import test as test, wait_until as wait_until
from .wait_sets import (
    test_all as test_all,
    test_all_vector as test_all_vector,
    test_any as test_any,
    test_any_vector as test_any_vector,
    test_some as test_some,
    test_some_vector as test_some_vector,
    wait_until_all as wait_until_all,
    wait_until_all_vector as wait_until_all_vector,
    wait_until_any as wait_until_any,
    wait_until_any_vector as wait_until_any_vector,
    wait_until_some as wait_until_some,
    wait_until_some_vector as wait_until_some_vector,
)
from .work_groups import max_work_groups as max_work_groups, sync_work_groups as sync_work_groups
__version__: str

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
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int, group:
    typing.Any,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int, group:
    typing.Any,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, indices: typing.Any, pe: int, group: typing.Any, mask: typing.Any =
    None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, indices: typing.Any, pe: int, group: typing.Any, mask: typing.Any =
    None,
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

def put_signal_nbi_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, sig_addr: dpnp.ndarray, signal: int, sig_op: int, pe: int, group:
    typing.Any, nelems: int | None = None, index: int | tuple[int, ...] = 0,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, sig_addr: dpnp.ndarray, signal: int, sig_op: int, pe: int, group:
    typing.Any, nelems: int | None = None, index: int | tuple[int, ...] = 0,
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
        cmp_value: Value to compare with.
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

def test_some_vector_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, group: typing.Any, status:
    typing.Any = None,
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
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any
    = None,
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

def wait_until_some_vector_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, group: typing.Any, status:
    typing.Any = None,
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
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any
    = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, team: Team = TEAM_WORLD, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, dest_counts: typing.Sequence[int], source_counts:
    typing.Sequence[int], dest_displs: typing.Sequence[int] | None = None, source_displs: typing.Sequence[int] |
    None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent]
    | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: typing.Sequence[int], root: int, displs: typing.Sequence[int]
    | None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None, depends:
    list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None, dtype: str | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None, dtype: str | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None, dtype: str | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: typing.Sequence[int], root: int, displs: typing.Sequence[int]
    | None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None, depends:
    list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None, dtype: str | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None, dtype: str | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None, dtype: str | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, dest_counts: dpnp.ndarray, source_counts: dpnp.ndarray, group:
    typing.Any, dest_displs: dpnp.ndarray | None = None, source_displs: dpnp.ndarray | None = None, team: int = 0,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: dpnp.ndarray, root: int, group: typing.Any, displs:
    dpnp.ndarray | None = None, team: int = 0,
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
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: dpnp.ndarray, root: int, group: typing.Any, displs:
    dpnp.ndarray | None = None, team: int = 0,
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
