from .amo import (
    atomic_add as atomic_add,
)
from .amo import (
    atomic_and as atomic_and,
)
from .amo import (
    atomic_compare_swap as atomic_compare_swap,
)
from .amo import (
    atomic_compare_swap_nbi as atomic_compare_swap_nbi,
)
from .amo import (
    atomic_fetch as atomic_fetch,
)
from .amo import (
    atomic_fetch_add as atomic_fetch_add,
)
from .amo import (
    atomic_fetch_add_nbi as atomic_fetch_add_nbi,
)
from .amo import (
    atomic_fetch_and as atomic_fetch_and,
)
from .amo import (
    atomic_fetch_and_nbi as atomic_fetch_and_nbi,
)
from .amo import (
    atomic_fetch_inc as atomic_fetch_inc,
)
from .amo import (
    atomic_fetch_inc_nbi as atomic_fetch_inc_nbi,
)
from .amo import (
    atomic_fetch_nbi as atomic_fetch_nbi,
)
from .amo import (
    atomic_fetch_or as atomic_fetch_or,
)
from .amo import (
    atomic_fetch_or_nbi as atomic_fetch_or_nbi,
)
from .amo import (
    atomic_fetch_xor as atomic_fetch_xor,
)
from .amo import (
    atomic_fetch_xor_nbi as atomic_fetch_xor_nbi,
)
from .amo import (
    atomic_inc as atomic_inc,
)
from .amo import (
    atomic_or as atomic_or,
)
from .amo import (
    atomic_set as atomic_set,
)
from .amo import (
    atomic_swap as atomic_swap,
)
from .amo import (
    atomic_swap_nbi as atomic_swap_nbi,
)
from .amo import (
    atomic_xor as atomic_xor,
)
from .collectives import (
    barrier_all as barrier_all,
)
from .collectives import (
    barrier_all_work_group as barrier_all_work_group,
)
from .collectives import (
    sync_all as sync_all,
)
from .collectives import (
    sync_all_work_group as sync_all_work_group,
    team_sync as team_sync,
    team_sync_work_group as team_sync_work_group,
)
from .constants import (
    CMP_EQ as CMP_EQ,
    CTX_NOSTORE as CTX_NOSTORE,
    CTX_PRIVATE as CTX_PRIVATE,
    CTX_SERIALIZED as CTX_SERIALIZED,
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
from .constants import (
    CMP_GE as CMP_GE,
)
from .constants import (
    CMP_GT as CMP_GT,
)
from .constants import (
    CMP_LE as CMP_LE,
)
from .constants import (
    CMP_LT as CMP_LT,
)
from .constants import (
    CMP_NE as CMP_NE,
)
from .constants import (
    SIGNAL_ADD as SIGNAL_ADD,
)
from .constants import (
    SIGNAL_SET as SIGNAL_SET,
)
from .constants import (
    MALLOC_ATOMICS_REMOTE as MALLOC_ATOMICS_REMOTE,
)
from .constants import (
    MALLOC_SIGNAL_REMOTE as MALLOC_SIGNAL_REMOTE,
)
from .constants import (
    THREAD_FUNNELED as THREAD_FUNNELED,
)
from .constants import (
    THREAD_MULTIPLE as THREAD_MULTIPLE,
)
from .constants import (
    THREAD_SERIALIZED as THREAD_SERIALIZED,
)
from .constants import (
    THREAD_SINGLE as THREAD_SINGLE,
)
from .errors import (
    HeapExhausted as HeapExhausted,
)
from .errors import (
    IshmemError as IshmemError,
)
from .errors import (
    LevelZeroError as LevelZeroError,
)
from .errors import (
    PeerLost as PeerLost,
)
from .errors import (
    StateError as StateError,
)
from .errors import (
    SymmetryError as SymmetryError,
)
from .errors import (
    WaitTimeout as WaitTimeout,
)
from .locks import (
    clear_lock as clear_lock,
    lock as lock,
    set_lock as set_lock,
    test_lock as test_lock,
)
from .memory import (
    addr_accessible as addr_accessible,
)
from .memory import (
    align as align,
)
from .memory import (
    arange as arange,
)
from .memory import (
    array as array,
)
from .memory import (
    calloc as calloc,
)
from .memory import (
    empty as empty,
)
from .memory import (
    empty_like as empty_like,
)
from .memory import (
    free as free,
)
from .memory import (
    free_all as free_all,
)
from .memory import (
    full as full,
)
from .memory import (
    full_like as full_like,
)
from .memory import (
    is_symmetric as is_symmetric,
)
from .memory import (
    malloc as malloc,
)
from .memory import (
    malloc_with_hints as malloc_with_hints,
)
from .memory import (
    ones as ones,
)
from .memory import (
    ones_like as ones_like,
)
from .memory import (
    ptr as ptr,
)
from .memory import (
    realloc as realloc,
)
from .memory import (
    zeros as zeros,
)
from .memory import (
    zeros_like as zeros_like,
)
from .on_queue import (
    barrier_all_on_queue as barrier_all_on_queue,
)
from .on_queue import (
    get_nbi_on_queue as get_nbi_on_queue,
)
from .on_queue import (
    get_on_queue as get_on_queue,
)
from .on_queue import (
    ibget_on_queue as ibget_on_queue,
)
from .on_queue import (
    ibput_on_queue as ibput_on_queue,
)
from .on_queue import (
    iget_on_queue as iget_on_queue,
)
from .on_queue import (
    iput_on_queue as iput_on_queue,
)
from .on_queue import (
    put_nbi_on_queue as put_nbi_on_queue,
)
from .on_queue import (
    put_on_queue as put_on_queue,
)
from .on_queue import (
    put_signal_nbi_on_queue as put_signal_nbi_on_queue,
)
from .on_queue import (
    put_signal_on_queue as put_signal_on_queue,
)
from .on_queue import (
    quiet_on_queue as quiet_on_queue,
)
from .on_queue import (
    signal_wait_until_on_queue as signal_wait_until_on_queue,
)
from .on_queue import (
    sync_all_on_queue as sync_all_on_queue,
)
from .on_queue import (
    team_sync_on_queue as team_sync_on_queue,
)
from .on_queue import (
    wait_until_all_on_queue as wait_until_all_on_queue,
)
from .on_queue import (
    wait_until_all_vector_on_queue as wait_until_all_vector_on_queue,
)
from .on_queue import (
    wait_until_any_on_queue as wait_until_any_on_queue,
)
from .on_queue import (
    wait_until_any_vector_on_queue as wait_until_any_vector_on_queue,
)
from .on_queue import (
    wait_until_on_queue as wait_until_on_queue,
)
from .on_queue import (
    wait_until_some_on_queue as wait_until_some_on_queue,
)
from .on_queue import (
    wait_until_some_vector_on_queue as wait_until_some_vector_on_queue,
)
from .order import (
    fence as fence,
)
from .order import (
    fence_work_group as fence_work_group,
)
from .order import (
    quiet as quiet,
)
from .order import (
    quiet_work_group as quiet_work_group,
)
from .rma import (
    g as g,
)
from .rma import (
    get as get,
)
from .rma import (
    get_nbi as get_nbi,
)
from .rma import (
    get_nbi_work_group as get_nbi_work_group,
)
from .rma import (
    get_work_group as get_work_group,
)
from .rma import (
    p as p,
)
from .rma import (
    put as put,
)
from .rma import (
    put_nbi as put_nbi,
)
from .rma import (
    put_nbi_work_group as put_nbi_work_group,
)
from .rma import (
    put_work_group as put_work_group,
)
from .setup import (
    finalize as finalize,
)
from .setup import (
    get_uniqueid as get_uniqueid,
)
from .setup import (
    global_exit as global_exit,
)
from .setup import (
    info_get_name as info_get_name,
)
from .setup import (
    info_get_version as info_get_version,
)
from .setup import (
    init as init,
)
from .setup import (
    init_thread as init_thread,
)
from .setup import (
    is_initialized as is_initialized,
)
from .setup import (
    my_pe as my_pe,
)
from .setup import (
    n_pes as n_pes,
)
from .setup import (
    pe_accessible as pe_accessible,
)
from .signals import (
    put_signal as put_signal,
    put_signal_nbi as put_signal_nbi,
    put_signal_nbi_work_group as put_signal_nbi_work_group,
    put_signal_work_group as put_signal_work_group,
    signal_add as signal_add,
    signal_fetch as signal_fetch,
    signal_set as signal_set,
    signal_wait_until as signal_wait_until,
    signal_wait_until_work_group as signal_wait_until_work_group,
)
from .statics import (
    static as static,
)
from .strided import (
    ibget as ibget,
    ibget_work_group as ibget_work_group,
    ibput as ibput,
    ibput_work_group as ibput_work_group,
    iget as iget,
    iget_work_group as iget_work_group,
    iput as iput,
    iput_work_group as iput_work_group,
)
from .setup import (
    query_thread as query_thread,
)
from .sync import (
    test as test,
    test_work_group as test_work_group,
    wait_until as wait_until,
    wait_until_work_group as wait_until_work_group,
)
from .sync_sets import (
    test_all as test_all,
    test_all_vector as test_all_vector,
    test_all_vector_work_group as test_all_vector_work_group,
    test_all_work_group as test_all_work_group,
    test_any as test_any,
    test_any_vector as test_any_vector,
    test_any_vector_work_group as test_any_vector_work_group,
    test_any_work_group as test_any_work_group,
    test_some as test_some,
    test_some_vector as test_some_vector,
    test_some_vector_work_group as test_some_vector_work_group,
    test_some_work_group as test_some_work_group,
    wait_until_all as wait_until_all,
    wait_until_all_vector as wait_until_all_vector,
    wait_until_all_vector_work_group as wait_until_all_vector_work_group,
    wait_until_all_work_group as wait_until_all_work_group,
    wait_until_any as wait_until_any,
    wait_until_any_vector as wait_until_any_vector,
    wait_until_any_vector_work_group as wait_until_any_vector_work_group,
    wait_until_any_work_group as wait_until_any_work_group,
    wait_until_some as wait_until_some,
    wait_until_some_vector as wait_until_some_vector,
    wait_until_some_vector_work_group as wait_until_some_vector_work_group,
    wait_until_some_work_group as wait_until_some_work_group,
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
