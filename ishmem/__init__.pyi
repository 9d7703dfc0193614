import typing

import dpctl
import dpnp

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
    atomic_fetch_nbi as atomic_fetch_nbi,
    atomic_fetch_or as atomic_fetch_or,
    atomic_fetch_or_nbi as atomic_fetch_or_nbi,
    atomic_fetch_xor as atomic_fetch_xor,
    atomic_fetch_xor_nbi as atomic_fetch_xor_nbi,
    atomic_inc as atomic_inc,
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
    MALLOC_ATOMICS_REMOTE as MALLOC_ATOMICS_REMOTE,
    MALLOC_SIGNAL_REMOTE as MALLOC_SIGNAL_REMOTE,
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
    ctx_create as ctx_create,
    ctx_destroy as ctx_destroy,
    ctx_fence as ctx_fence,
    ctx_get_team as ctx_get_team,
    ctx_quiet as ctx_quiet,
)
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
    realloc as realloc,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .on_queue import (
    barrier_all_on_queue as barrier_all_on_queue,
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
from .order import (
    fence as fence,
    quiet as quiet,
)
from .query import (
    addr_accessible as addr_accessible,
    info_get_name as info_get_name,
    info_get_version as info_get_version,
    my_pe as my_pe,
    n_pes as n_pes,
    pe_accessible as pe_accessible,
    ptr as ptr,
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
from .rma import (
    g as g,
    get as get,
    get_nbi as get_nbi,
    p as p,
    put as put,
    put_nbi as put_nbi,
)
from .setup import (
    finalize as finalize,
    get_uniqueid as get_uniqueid,
    global_exit as global_exit,
    init as init,
    init_thread as init_thread,
    is_initialized as is_initialized,
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
from .strided import (
    ibget as ibget,
    ibput as ibput,
    iget as iget,
    iput as iput,
)
from .teams import (
    TEAM_INVALID as TEAM_INVALID,
    TEAM_NODE as TEAM_NODE,
    TEAM_SHARED as TEAM_SHARED,
    TEAM_WORLD as TEAM_WORLD,
    Team as Team,
    TeamConfig as TeamConfig,
    team_destroy as team_destroy,
    team_get_config as team_get_config,
    team_my_pe as team_my_pe,
    team_n_pes as team_n_pes,
    team_ptr as team_ptr,
    team_split_2d as team_split_2d,
    team_split_strided as team_split_strided,
    team_translate_pe as team_translate_pe,
)
from .vcollectives import (
    alltoallv as alltoallv,
    gatherv as gatherv,
    scatterv as scatterv,
)
from .wait import (
    test as test,
    wait_until as wait_until,
)
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
__version__: str

# Written by python -m ishmem.cli.signatures from here on.

if not typing.TYPE_CHECKING:  # for lazy_loader, which imports a routine from where this says
    from .rma import get_nbi_work_group as get_nbi_work_group
    from .rma import get_work_group as get_work_group
    from .rma import put_nbi_work_group as put_nbi_work_group
    from .rma import put_work_group as put_work_group
    from .strided import ibget_work_group as ibget_work_group
    from .strided import ibput_work_group as ibput_work_group
    from .strided import iget_work_group as iget_work_group
    from .strided import iput_work_group as iput_work_group
    from .signals import put_signal_nbi_work_group as put_signal_nbi_work_group
    from .signals import put_signal_work_group as put_signal_work_group
    from .signals import signal_wait_until_work_group as signal_wait_until_work_group
    from .order import fence_work_group as fence_work_group
    from .order import quiet_work_group as quiet_work_group
    from .wait import test_work_group as test_work_group
    from .wait import wait_until_work_group as wait_until_work_group
    from .wait_sets import test_all_work_group as test_all_work_group
    from .wait_sets import test_all_vector_work_group as test_all_vector_work_group
    from .wait_sets import test_any_work_group as test_any_work_group
    from .wait_sets import test_any_vector_work_group as test_any_vector_work_group
    from .wait_sets import test_some_work_group as test_some_work_group
    from .wait_sets import test_some_vector_work_group as test_some_vector_work_group
    from .wait_sets import wait_until_all_work_group as wait_until_all_work_group
    from .wait_sets import wait_until_all_vector_work_group as wait_until_all_vector_work_group
    from .wait_sets import wait_until_any_work_group as wait_until_any_work_group
    from .wait_sets import wait_until_any_vector_work_group as wait_until_any_vector_work_group
    from .wait_sets import wait_until_some_work_group as wait_until_some_work_group
    from .wait_sets import wait_until_some_vector_work_group as wait_until_some_vector_work_group
    from .collectives import alltoall_work_group as alltoall_work_group
    from .collectives import alltoalls_work_group as alltoalls_work_group
    from .collectives import barrier_all_work_group as barrier_all_work_group
    from .collectives import broadcast_work_group as broadcast_work_group
    from .collectives import collect_work_group as collect_work_group
    from .collectives import fcollect_work_group as fcollect_work_group
    from .collectives import gather_work_group as gather_work_group
    from .collectives import scatter_work_group as scatter_work_group
    from .collectives import sync_all_work_group as sync_all_work_group
    from .collectives import team_sync_work_group as team_sync_work_group
    from .vcollectives import alltoallv_work_group as alltoallv_work_group
    from .vcollectives import gatherv_work_group as gatherv_work_group
    from .vcollectives import scatterv_work_group as scatterv_work_group
    from .reductions import and_reduce_work_group as and_reduce_work_group
    from .reductions import max_reduce_work_group as max_reduce_work_group
    from .reductions import min_reduce_work_group as min_reduce_work_group
    from .reductions import or_reduce_work_group as or_reduce_work_group
    from .reductions import prod_reduce_work_group as prod_reduce_work_group
    from .reductions import sum_exscan_work_group as sum_exscan_work_group
    from .reductions import sum_inscan_work_group as sum_inscan_work_group
    from .reductions import sum_reduce_work_group as sum_reduce_work_group
    from .reductions import xor_reduce_work_group as xor_reduce_work_group
    from .collectives_on_queue import alltoall_on_queue as alltoall_on_queue
    from .collectives_on_queue import alltoalls_on_queue as alltoalls_on_queue
    from .collectives_on_queue import alltoallv_on_queue as alltoallv_on_queue
    from .collectives_on_queue import and_reduce_on_queue as and_reduce_on_queue
    from .collectives_on_queue import broadcast_on_queue as broadcast_on_queue
    from .collectives_on_queue import collect_on_queue as collect_on_queue
    from .collectives_on_queue import fcollect_on_queue as fcollect_on_queue
    from .collectives_on_queue import gather_on_queue as gather_on_queue
    from .collectives_on_queue import gatherv_on_queue as gatherv_on_queue
    from .collectives_on_queue import max_reduce_on_queue as max_reduce_on_queue
    from .collectives_on_queue import min_reduce_on_queue as min_reduce_on_queue
    from .collectives_on_queue import or_reduce_on_queue as or_reduce_on_queue
    from .collectives_on_queue import prod_reduce_on_queue as prod_reduce_on_queue
    from .collectives_on_queue import scatter_on_queue as scatter_on_queue
    from .collectives_on_queue import scatterv_on_queue as scatterv_on_queue
    from .collectives_on_queue import sum_exscan_on_queue as sum_exscan_on_queue
    from .collectives_on_queue import sum_inscan_on_queue as sum_inscan_on_queue
    from .collectives_on_queue import sum_reduce_on_queue as sum_reduce_on_queue
    from .collectives_on_queue import xor_reduce_on_queue as xor_reduce_on_queue

def get_nbi_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """``get_nbi`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_get_nbi_work_group.
    """

def get_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """``get`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_get_work_group.
    """

def put_nbi_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """``put_nbi`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_put_nbi_work_group.
    """

def put_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, pe: int, group: typing.Any, nelems: int | None = None,
) -> None:
    """``put`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_put_work_group.
    """

def ibget_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int, group:
    typing.Any,
) -> None:
    """``ibget`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_ibget_work_group.
    """

def ibput_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, bsize: int, nblocks: int, pe: int, group:
    typing.Any,
) -> None:
    """``ibput`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_ibput_work_group.
    """

def iget_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, pe: int, group: typing.Any,
) -> None:
    """``iget`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_iget_work_group.
    """

def iput_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, pe: int, group: typing.Any,
) -> None:
    """``iput`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_iput_work_group.
    """

def put_signal_nbi_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, sig_addr: dpnp.ndarray, signal: int, sig_op: int, pe: int, group:
    typing.Any, nelems: int | None = None, index: int = 0,
) -> None:
    """``put_signal_nbi`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_put_signal_nbi_work_group.
    """

def put_signal_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, sig_addr: dpnp.ndarray, signal: int, sig_op: int, pe: int, group:
    typing.Any, nelems: int | None = None, index: int = 0,
) -> None:
    """``put_signal`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_put_signal_work_group.
    """

def signal_wait_until_work_group(
    sig_addr: dpnp.ndarray, cmp: int, cmp_value: int, group: typing.Any, index: int = 0,
) -> int:
    """``signal_wait_until`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_signal_wait_until_work_group.
    """

def fence_work_group(group: typing.Any) -> None:
    """``fence`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_fence_work_group.
    """

def quiet_work_group(group: typing.Any) -> None:
    """``quiet`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_quiet_work_group.
    """

def test_work_group(ivar: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, index: int = 0) -> bool:
    """``test`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_test_work_group.
    """

def wait_until_work_group(
    ivar: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, index: int = 0,
) -> None:
    """``wait_until`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_wait_until_work_group.
    """

def test_all_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> bool:
    """``test_all`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_test_all_work_group.
    """

def test_all_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> bool:
    """``test_all_vector`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_test_all_vector_work_group.
    """

def test_any_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """``test_any`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_test_any_work_group.
    """

def test_any_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """``test_any_vector`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_test_any_vector_work_group.
    """

def test_some_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any
    = None,
) -> int:
    """``test_some`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_test_some_work_group.
    """

def test_some_vector_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, group: typing.Any, status:
    typing.Any = None,
) -> int:
    """``test_some_vector`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_test_some_vector_work_group.
    """

def wait_until_all_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> None:
    """``wait_until_all`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_wait_until_all_work_group.
    """

def wait_until_all_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> None:
    """``wait_until_all_vector`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_wait_until_all_vector_work_group.
    """

def wait_until_any_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """``wait_until_any`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_wait_until_any_work_group.
    """

def wait_until_any_vector_work_group(
    ivars: dpnp.ndarray, cmp: int, cmp_values: typing.Any, group: typing.Any, status: typing.Any = None,
) -> int:
    """``wait_until_any_vector`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_wait_until_any_vector_work_group.
    """

def wait_until_some_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_value: typing.Any, group: typing.Any, status: typing.Any
    = None,
) -> int:
    """``wait_until_some`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_wait_until_some_work_group.
    """

def wait_until_some_vector_work_group(
    ivars: dpnp.ndarray, indices: typing.Any, cmp: int, cmp_values: typing.Any, group: typing.Any, status:
    typing.Any = None,
) -> int:
    """``wait_until_some_vector`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Source: ishmemx_wait_until_some_vector_work_group.
    """

def alltoall_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``alltoall`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_alltoall_work_group.
    """

def alltoalls_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, group: typing.Any, team: int = 0,
) -> int:
    """``alltoalls`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: shmem_alltoalls, in the manner of ishmemx_alltoall_work_group.
    """

def barrier_all_work_group(group: typing.Any) -> None:
    """``barrier_all`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_barrier_all_work_group.
    """

def broadcast_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``broadcast`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_broadcast_work_group.
    """

def collect_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``collect`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_collect_work_group.
    """

def fcollect_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``fcollect`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_fcollect_work_group.
    """

def gather_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``gather`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: MPI_Gather, in the manner of ishmemx_fcollect_work_group.
    """

def scatter_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``scatter`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: MPI_Scatter, in the manner of ishmemx_broadcast_work_group.
    """

def sync_all_work_group(group: typing.Any) -> None:
    """``sync_all`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments; the call begins and ends with a group barrier.

    Source: ishmemx_sync_all_work_group.
    """

def team_sync_work_group(team: int, group: typing.Any) -> int:
    """``team_sync`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_team_sync_work_group.
    """

def alltoallv_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, dest_counts: dpnp.ndarray, source_counts: dpnp.ndarray, group:
    typing.Any, dest_displs: dpnp.ndarray | None = None, source_displs: dpnp.ndarray | None = None, team: int = 0,
) -> int:
    """``alltoallv`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: MPI_Alltoallv, in the manner of ishmemx_alltoall_work_group.
    """

def gatherv_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: dpnp.ndarray, root: int, group: typing.Any, displs:
    dpnp.ndarray | None = None, team: int = 0,
) -> int:
    """``gatherv`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: MPI_Gatherv, in the manner of ishmemx_collect_work_group.
    """

def scatterv_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: dpnp.ndarray, root: int, group: typing.Any, displs:
    dpnp.ndarray | None = None, team: int = 0,
) -> int:
    """``scatterv`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: MPI_Scatterv, in the manner of ishmemx_broadcast_work_group.
    """

def and_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``and_reduce`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_and_reduce_work_group.
    """

def max_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``max_reduce`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_max_reduce_work_group.
    """

def min_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``min_reduce`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_min_reduce_work_group.
    """

def or_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``or_reduce`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_or_reduce_work_group.
    """

def prod_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``prod_reduce`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_prod_reduce_work_group.
    """

def sum_exscan_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``sum_exscan`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmem_sum_exscan, in the manner of ishmemx_sum_reduce_work_group.
    """

def sum_inscan_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``sum_inscan`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmem_sum_inscan, in the manner of ishmemx_sum_reduce_work_group.
    """

def sum_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``sum_reduce`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_sum_reduce_work_group.
    """

def xor_reduce_work_group(
    dest: dpnp.ndarray, source: dpnp.ndarray, group: typing.Any, team: int = 0, nelems: int | None = None,
) -> int:
    """``xor_reduce`` by all work-items of a work-group together; in kernels only.

    All work-items pass the same arguments and get the same result; the call begins and ends with a group barrier.

    Returns:
        0, or -1 if this PE is not in the team.

    Source: ishmemx_xor_reduce_work_group.
    """

def alltoall_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``alltoall`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_alltoall_on_queue.
    """

def alltoalls_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, dst: int, sst: int, nelems: int, team: Team = TEAM_WORLD, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``alltoalls`` in the order of a queue.

    Collective over the team, not blocking.

    Source: shmem_alltoalls, in the manner of ishmemx_alltoall_on_queue.
    """

def alltoallv_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, dest_counts: typing.Sequence[int], source_counts:
    typing.Sequence[int], dest_displs: typing.Sequence[int] | None = None, source_displs: typing.Sequence[int] |
    None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent]
    | None = None,
) -> dpctl.SyclEvent:
    """``alltoallv`` in the order of a queue.

    Collective over the team, not blocking.

    Source: MPI_Alltoallv, in the manner of ishmemx_alltoall_on_queue.
    """

def and_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``and_reduce`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_and_reduce_on_queue.
    """

def broadcast_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``broadcast`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_broadcast_on_queue.
    """

def collect_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``collect`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_collect_on_queue.
    """

def fcollect_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``fcollect`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_fcollect_on_queue.
    """

def gather_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``gather`` in the order of a queue.

    Collective over the team, not blocking.

    Source: MPI_Gather, in the manner of ishmemx_fcollect_on_queue.
    """

def gatherv_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: typing.Sequence[int], root: int, displs: typing.Sequence[int]
    | None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None, depends:
    list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``gatherv`` in the order of a queue.

    Collective over the team, not blocking.

    Source: MPI_Gatherv, in the manner of ishmemx_collect_on_queue.
    """

def max_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``max_reduce`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_max_reduce_on_queue.
    """

def min_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``min_reduce`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_min_reduce_on_queue.
    """

def or_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``or_reduce`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_or_reduce_on_queue.
    """

def prod_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``prod_reduce`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_prod_reduce_on_queue.
    """

def scatter_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``scatter`` in the order of a queue.

    Collective over the team, not blocking.

    Source: MPI_Scatter, in the manner of ishmemx_broadcast_on_queue.
    """

def scatterv_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, counts: typing.Sequence[int], root: int, displs: typing.Sequence[int]
    | None = None, team: Team = TEAM_WORLD, sycl_queue: dpctl.SyclQueue | None = None, depends:
    list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``scatterv`` in the order of a queue.

    Collective over the team, not blocking.

    Source: MPI_Scatterv, in the manner of ishmemx_broadcast_on_queue.
    """

def sum_exscan_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``sum_exscan`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_sum_exscan_on_queue.
    """

def sum_inscan_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``sum_inscan`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_sum_inscan_on_queue.
    """

def sum_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``sum_reduce`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_sum_reduce_on_queue.
    """

def xor_reduce_on_queue(
    dest: dpnp.ndarray, source: dpnp.ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, sycl_queue:
    dpctl.SyclQueue | None = None, depends: list[dpctl.SyclEvent] | None = None,
) -> dpctl.SyclEvent:
    """``xor_reduce`` in the order of a queue.

    Collective over the team, not blocking.

    Source: ishmemx_xor_reduce_on_queue.
    """
