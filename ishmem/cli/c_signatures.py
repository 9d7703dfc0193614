"""Arguments of the routines of OpenSHMEM 1.6 and Intel SHMEM in C, without types: `c_map` shows them."""

from __future__ import annotations

from ishmem.common.type_tables import ATOMICS

_STRIDED = "dest, source, dst, sst, nelems, pe"
_BLOCKS = "dest, source, dst, sst, bsize, nblocks, pe"
_TEAM_MOVE = "team, dest, source, nelems"
_LOCK = "lock"

ARGUMENTS = {
    "shmem_init": "",
    "shmem_init_thread": "requested, provided",
    "shmem_query_thread": "provided",
    "shmem_finalize": "",
    "shmem_global_exit": "status",
    "shmem_my_pe": "",
    "shmem_n_pes": "",
    "shmem_pe_accessible": "pe",
    "shmem_addr_accessible": "addr, pe",
    "shmem_ptr": "dest, pe",
    "shmem_info_get_version": "major, minor",
    "shmem_info_get_name": "name",
    "start_pes": "npes",
    "ishmemx_init_attr": "attr",
    "ishmemx_get_uniqueid": "uid",
    "shmem_query_initialized": "initialized",
    "shmem_malloc": "size",
    "shmem_calloc": "count, size",
    "shmem_align": "alignment, size",
    "shmem_realloc": "ptr, size",
    "shmem_malloc_with_hints": "size, hints",
    "shmem_free": "ptr",
    "shmem_team_my_pe": "team",
    "shmem_team_n_pes": "team",
    "shmem_team_get_config": "team, config_mask, config",
    "shmem_team_translate_pe": "src_team, src_pe, dest_team",
    "shmem_team_split_strided": "parent_team, start, stride, size, config, config_mask, new_team",
    "shmem_team_split_2d": "parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask, "
    "yaxis_team",
    "shmem_team_destroy": "team",
    "shmem_team_sync": "team",
    "shmem_team_ptr": "team, dest, pe",
    "shmem_ctx_create": "options, ctx",
    "shmem_team_create_ctx": "team, options, ctx",
    "shmem_ctx_destroy": "ctx",
    "shmem_ctx_get_team": "ctx, team",
    "shmem_ctx_session_start": "ctx, options, config, config_mask",
    "shmem_ctx_session_stop": "ctx",
    "shmem_put": "dest, source, nelems, pe",
    "shmem_get": "dest, source, nelems, pe",
    "shmem_p": "dest, value, pe",
    "shmem_g": "source, pe",
    "shmem_iput": _STRIDED,
    "shmem_iget": _STRIDED,
    "shmem_ibput": _BLOCKS,
    "shmem_ibget": _BLOCKS,
    "shmem_put_nbi": "dest, source, nelems, pe",
    "shmem_get_nbi": "dest, source, nelems, pe",
    "shmem_put_signal": "dest, source, nelems, sig_addr, signal, sig_op, pe",
    "shmem_put_signal_nbi": "dest, source, nelems, sig_addr, signal, sig_op, pe",
    "shmem_signal_fetch": "sig_addr",
    "shmem_signal_add": "sig_addr, signal, pe",
    "shmem_signal_set": "sig_addr, signal, pe",
    "shmem_signal_wait_until": "sig_addr, cmp, cmp_value",
    "shmem_fence": "",
    "shmem_quiet": "",
    "shmem_pe_quiet": "target_pes, npes",
    "shmem_barrier_all": "",
    "shmem_sync_all": "",
    "shmem_barrier": "PE_start, logPE_stride, PE_size, pSync",
    "shmem_sync": "PE_start, logPE_stride, PE_size, pSync",
    "shmem_alltoall": _TEAM_MOVE,
    "shmem_alltoalls": "team, dest, source, dst, sst, nelems",
    "shmem_broadcast": "team, dest, source, nelems, PE_root",
    "shmem_collect": _TEAM_MOVE,
    "shmem_fcollect": _TEAM_MOVE,
    **dict.fromkeys(
        (f"shmem_{name}_reduce" for name in ("and", "or", "xor", "max", "min", "sum", "prod")),
        "team, dest, source, nreduce",
    ),
    "shmem_sum_inscan": _TEAM_MOVE,
    "shmem_sum_exscan": _TEAM_MOVE,
    "shmem_set_lock": _LOCK,
    "shmem_test_lock": _LOCK,
    "shmem_clear_lock": _LOCK,
}
for _name, _atomic in ((name, atomic) for name, atomic in ATOMICS.items() if atomic.standard):
    _first = "source" if _name == "atomic_fetch" else "dest"
    ARGUMENTS[f"shmem_{_name}"] = ", ".join([_first, *_atomic.operands, "pe"])
    ARGUMENTS[f"shmem_{_name}_nbi"] = ", ".join(["fetch", _first, *_atomic.operands, "pe"])
for _verb in ("wait_until", "test"):
    ARGUMENTS[f"shmem_{_verb}"] = "ivar, cmp, cmp_value"
    for _which in ("all", "any", "some"):
        _sets = "ivars, nelems, indices, status" if _which == "some" else "ivars, nelems, status"
        ARGUMENTS[f"shmem_{_verb}_{_which}"] = f"{_sets}, cmp, cmp_value"
        ARGUMENTS[f"shmem_{_verb}_{_which}_vector"] = f"{_sets}, cmp, cmp_values"
