"""The map from C to Python: every routine of OpenSHMEM 1.6 and Intel SHMEM, and where it may be called here.

``python -m ishmem.cli.c_map`` writes it as ``docs/c-to-python.md``. Names are listed here; where and how a routine may
be called is read from the code: the functions that ``ishmem`` exports, and the device forms that are registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ishmem
from ishmem.cli import python_map
from ishmem.cli.c_signatures import ARGUMENTS
from ishmem.common.type_tables import ATOMICS

CHAPTERS: dict[str, tuple[str, ...]] = {
    "Set-up, exit and query": (
        "shmem_init", "shmem_query_initialized", "shmem_init_thread", "shmem_query_thread", "shmem_finalize",
        "shmem_global_exit",
        "shmem_my_pe", "shmem_n_pes", "shmem_pe_accessible", "shmem_addr_accessible", "shmem_ptr",
        "shmem_info_get_version", "shmem_info_get_name", "start_pes", "ishmemx_init_attr", "ishmemx_get_uniqueid",
        "ishmemx_runtime_get_type",
    ),
    "Memory": (
        "shmem_malloc", "shmem_calloc", "shmem_align", "shmem_realloc", "shmem_malloc_with_hints", "shmem_free",
    ),
    "Teams": (
        "shmem_team_my_pe", "shmem_team_n_pes", "shmem_team_get_config", "shmem_team_translate_pe",
        "shmem_team_split_strided", "shmem_team_split_2d", "shmem_team_destroy", "shmem_team_sync", "shmem_team_ptr",
    ),
    "Contexts": (
        "shmem_ctx_create", "shmem_team_create_ctx", "shmem_ctx_destroy", "shmem_ctx_get_team",
        "shmem_ctx_session_start", "shmem_ctx_session_stop",
    ),
    "Remote memory access": (
        "shmem_put", "shmem_get", "shmem_p", "shmem_g", "shmem_iput", "shmem_iget", "shmem_ibput", "shmem_ibget",
        "shmem_put_nbi", "shmem_get_nbi",
    ),
    "Atomics": tuple(
        f"shmem_{name}{suffix}"
        for suffix in ("", "_nbi")
        for name, atomic in ATOMICS.items()
        if atomic.standard and (not suffix or atomic.fetches)
    ),
    "Signals": (
        "shmem_put_signal", "shmem_put_signal_nbi", "shmem_signal_fetch", "shmem_signal_add", "shmem_signal_set",
        "shmem_signal_wait_until",
    ),
    "Waiting and testing": tuple(
        f"shmem_{verb}{which}"
        for verb in ("wait_until", "test")
        for which in ("", "_all", "_any", "_some", "_all_vector", "_any_vector", "_some_vector")
    ),
    "Ordering": ("shmem_fence", "shmem_quiet", "shmem_pe_quiet"),
    "Collectives": (
        "shmem_barrier_all", "shmem_sync_all", "shmem_barrier", "shmem_sync", "shmem_alltoall", "shmem_alltoalls",
        "shmem_broadcast", "shmem_collect", "shmem_fcollect", "shmem_and_reduce", "shmem_or_reduce",
        "shmem_xor_reduce", "shmem_max_reduce", "shmem_min_reduce", "shmem_sum_reduce", "shmem_prod_reduce",
        "shmem_sum_inscan", "shmem_sum_exscan",
    ),
    "Locks": ("shmem_set_lock", "shmem_test_lock", "shmem_clear_lock"),
    "Utilities": (
        "shmem_pcontrol", "shmem_set_cache_inv", "shmem_udcflush", "ishmemx_print", "ishmemx_timestamp",
        "ishmemx_timestamp_nbi", "ishmemx_ts_handle",
    ),
}  # fmt: skip
"""C names without type and size, by chapter; forms with a type, SIZE or ``mem`` in the name are the same routine."""

RENAMED = {
    "start_pes": "init",
    "shmem_barrier": "active_set",
    "shmem_sync": "active_set",
    "shmem_team_create_ctx": "ctx_create",
    "ishmemx_init_attr": "init",
}
"""Routines whose Python name is not the C name without its prefix."""

ABSENT = {
    "ishmemx_runtime_get_type": "ishmem has one runtime, so there is no type to query",
    "shmem_pcontrol": "profiling interface of C; use the profilers of Python",
    "shmem_set_cache_inv": "deprecated, without effect on coherent hardware",
    "shmem_udcflush": "deprecated, without effect on coherent hardware",
    "ishmemx_print": "use print: in kernels it takes numbers and constant text; ishmem run adds the PE number",
    "ishmemx_timestamp": "not served by the proxy; time kernels on the host, for example with time.perf_counter",
    "ishmemx_timestamp_nbi": "not served by the proxy; time kernels on the host, for example with time.perf_counter",
    "ishmemx_ts_handle": "not served by the proxy; time kernels on the host, for example with time.perf_counter",
}
"""Routines that are not here, and why."""


_HEADER = ("| C | on the host | in a kernel | work-group | on-queue |", "|---|---|---|---|---|")


@dataclass(frozen=True)
class Row:
    """One routine of the map.

    Attributes:
        c_name: Its name in C.
        python: Its name in Python, or an empty string.
        host: Whether host code may call it.
        kernel: Whether kernels may call it.
        work_group: Whether it has a work-group form for kernels.
        on_queue: Whether it has an on-queue form for the host.
        absent: Why it is not here.
    """

    c_name: str
    python: str
    host: bool
    kernel: bool
    work_group: bool
    on_queue: bool
    absent: str = ""


def python_name(c_name: str) -> str:
    """Return the Python name of a C routine."""
    return RENAMED.get(c_name) or c_name.split("shmem_")[-1].split("shmemx_")[-1]


def rows(chapter: str) -> Iterator[Row]:
    """Return the rows of a chapter."""
    from ishmem.kernels.intrinsics import registered

    for c_name in CHAPTERS[chapter]:
        name = python_name(c_name)
        if c_name in ABSENT:
            yield Row(c_name, "", False, False, False, False, ABSENT[c_name])
            continue
        function = getattr(ishmem, name)
        group, queued = getattr(ishmem, f"{name}_work_group", None), getattr(ishmem, f"{name}_on_queue", None)
        host = not hasattr(function, "kernel_only")
        yield Row(c_name, name, host, function in registered, group in registered, queued is not None)


def python_only() -> list[str]:
    """Return the public functions that no C routine stands behind."""
    listed = {row.python for chapter in CHAPTERS for row in rows(chapter)}
    forms = {f"{name}{suffix}" for name in listed for suffix in ("_work_group", "_on_queue")}
    names = (name for name in dir(ishmem) if callable(getattr(ishmem, name)) and name not in listed | forms)
    return sorted(name for name in names if not isinstance(getattr(ishmem, name), type) and not name.startswith("_"))


def render() -> str:
    """Return the map as markdown."""
    lines = [
        "# From C to Python",
        "",
        "This page maps every routine of OpenSHMEM 1.6 and Intel SHMEM to its Python form, and shows where and how",
        "that form may be called: on the host, in a kernel by each work-item on its own, in a kernel by all work-items",
        "of a work-group together (suffix `_work_group`), or in the order of a SYCL queue (`_on_queue`). All names are",
        "in the module `ishmem`. `same` stands for the signature of the host; the work-group forms take `group` after",
        "the required arguments, and the on-queue forms take `sycl_queue` and `depends`. A kernel takes a team as an",
        "argument or by a name such as `ishmem.TEAM_WORLD`. One row stands for all typed,",
        "sized and `mem` variants of a C routine: in Python the type comes from the array. The last section maps the",
        "calls of shmem4py, NVSHMEM4Py and Iris. `python -m ishmem.cli.c_map` prints this page.",
    ]
    for chapter in CHAPTERS:
        lines += ["", f"## {chapter}", "", *_HEADER]
        lines += [_line(row) for row in rows(chapter)]
    names = ", ".join(f"`{name}`" for name in python_only())
    return "\n".join([*lines, "", "## Only in Python", "", names, *python_map.render(), ""])


def parameters(function: Any) -> str:
    """Return the parameters of a function as in a call, without annotations."""
    signature = inspect.signature(function)
    plain = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
        if not each.name.startswith("_") and each.name != "site"  # which kernels.call_sites adds
    ]
    bare = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return str(bare).replace("ishmem.TEAM", "TEAM")


def _line(row: Row) -> str:
    if row.absent:
        return f"| `{row.c_name}` | not here: {row.absent} | | | |"
    from ishmem.kernels.intrinsics import registered

    function = getattr(ishmem, row.python)
    host = f"`{row.python}{parameters(function)}`"
    device = f"`{row.python}{parameters(registered[function])}`" if row.kernel else ""
    marks = ("yes" if mark else "" for mark in (row.work_group, row.on_queue))
    in_kernel = "same" if device == host else device
    return f"| `{row.c_name}({ARGUMENTS[row.c_name]})` | {host} | {in_kernel} | {' | '.join(marks)} |"


if __name__ == "__main__":
    print(render(), end="")
