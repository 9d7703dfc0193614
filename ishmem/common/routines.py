"""The table of routines: chapter, module, C name and forms of each, its kind of wait, and the direction of its data.

From this table come ``__all__`` of the chapters, the stub ``ishmem/__init__.pyi`` and with it the names that ``ishmem``
exports, the maps from C, the reference, the names in reports of kernels, and the categories of calls in traces. The
rows of atomics and collective routines come from tables of their own, `ATOMICS` and `COLLECTIVES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Union

from ishmem.common.collective_table import COLLECTIVES, Collective, Combines
from ishmem.common.type_tables import ATOMICS, Atomic, Rmw


class Data(Enum):
    """The direction of the data between this PE and the peer; the values are categories of traces."""

    NONE = ""
    PUT = "put"
    GET = "get"


class Waits(Enum):
    """The kind of wait of a host call, beyond operations of its own PE; the values are categories of traces."""

    NOTHING = ""
    PES = "collective"
    VARIABLE = "wait"


GROUP, QUEUE = "_work_group", "_on_queue"
"""Suffixes of the names of a routine's forms."""


@dataclass(frozen=True)
class Routine:
    """A routine of ``ishmem``.

    Attributes:
        module: The module of ``ishmem`` that contains it, and its work-group form.
        name: Python name.
        c: The call in C without types; empty if only Python has the routine. Forms with a type, SIZE or ``mem`` in the
            name are the same routine.
        data: The direction of its data.
        waits: The kind of its wait on the host. On-queue forms do not wait.
        forms: Its forms.
    """

    module: str
    name: str
    c: str = ""
    data: Data = Data.NONE
    waits: Waits = Waits.NOTHING
    forms: tuple[str, ...] = ()

    @property
    def has_contexts(self) -> bool:
        """Whether contexts have the routine: it moves data and waits for no other PE."""
        return self.data is not Data.NONE and self.waits is Waits.NOTHING

    @property
    def locations(self) -> Iterator[tuple[str, str]]:
        """The modules and names of the routine and of its forms."""
        queue = "collectives_on_queue" if self.name in COLLECTIVES else "on_queue"
        for form in ("", *self.forms):
            yield queue if form == QUEUE else self.module, f"{self.name}{form}"


@dataclass(frozen=True)
class CRoutine:
    """A C routine without a Python routine of its own.

    Attributes:
        c: The call in C, or only its name if there is no other routine for it.
        name: The Python routine that does the same; empty if there is none.
        absent: The reason if there is none.
    """

    c: str
    name: str = ""
    absent: str = ""


Row = Union[Routine, CRoutine]


@dataclass(frozen=True)
class Chapter:
    """A chapter of the reference.

    Attributes:
        title: Its title.
        modules: The modules of ``ishmem`` whose routines it describes; their docstrings open the page.
        rows: Its routines, in the order of OpenSHMEM.
    """

    title: str
    modules: tuple[str, ...]
    rows: tuple[Row, ...]


def c_name(row: Row) -> str:
    """Return the name in C of the routine of a row; empty if there is none."""
    return row.c.partition("(")[0]


def _allocation(name: str, c: str = "") -> Routine:
    return Routine("memory", name, c, waits=Waits.PES)


def _atomic(atomic: Atomic, nbi: bool) -> Routine:
    fetch = atomic.rmw is Rmw.FETCH
    name = f"{atomic.name}_nbi" if nbi else atomic.name
    arguments = ["fetch"] * nbi + ["source" if fetch else "dest", *atomic.operands, "pe"]
    c = f"shmem_{name}({', '.join(arguments)})" if atomic.standard else ""
    return Routine("amo", name, c, Data.GET if fetch else Data.PUT)


def _atomics() -> Iterator[Routine]:
    for nbi in (False, True):
        yield from (_atomic(atomic, nbi) for atomic in ATOMICS.values() if atomic.fetches or not nbi)


def _of_set(verb: str, which: str, vector: str) -> Routine:
    """Return the row of the routine that waits for, or tests, a set of variables."""
    indices = "indices, " if which == "some" else ""
    name, values = f"{verb}_{which}{vector}", "cmp_values" if vector else "cmp_value"
    waits, forms = (Waits.VARIABLE, (GROUP, QUEUE)) if verb == "wait_until" else (Waits.NOTHING, (GROUP,))
    c = f"shmem_{name}(ivars, nelems, {indices}status, cmp, {values})"
    return Routine("wait_sets", name, c, waits=waits, forms=forms)


def _sets(verb: str) -> Iterator[Routine]:
    for vector in ("", "_vector"):
        yield from (_of_set(verb, which, vector) for which in ("all", "any", "some"))


def _collective(routine: Collective) -> Routine:
    copies = routine.combines is Combines.NOTHING
    module = "vcollectives" if routine.counted else "collectives" if copies else "reductions"
    size = "nreduce" if routine.combines is Combines.REDUCTION else "nelems"
    arguments = ["team, dest, source", *["dst, sst"] * routine.strided, size, *["PE_root"] * routine.has_root]
    c = f"shmem_{routine.name}({', '.join(arguments)})" if routine.standard else ""
    return Routine(module, routine.name, c, waits=Waits.PES, forms=(GROUP, QUEUE))


_STRIDED = "dest, source, dst, sst, nelems, pe"
_BLOCKS = "dest, source, dst, sst, bsize, nblocks, pe"
_SIGNAL = "dest, source, nelems, sig_addr, signal, sig_op, pe"
_NO_TIMESTAMPS = "not served by the proxy; time kernels on the host, for example with time.perf_counter"

CHAPTERS = (
    Chapter(
        "Set-up, exit and query",
        ("init_finalize", "query"),
        (
            Routine("init_finalize", "init", "shmem_init()", waits=Waits.PES),
            Routine("init_finalize", "query_initialized", "shmem_query_initialized(initialized)"),
            Routine("init_finalize", "init_thread", "shmem_init_thread(requested, provided)", waits=Waits.PES),
            Routine("init_finalize", "query_thread", "shmem_query_thread(provided)"),
            Routine("init_finalize", "finalize", "shmem_finalize()", waits=Waits.PES),
            Routine("init_finalize", "global_exit", "shmem_global_exit(status)"),
            Routine("query", "my_pe", "shmem_my_pe()"),
            Routine("query", "n_pes", "shmem_n_pes()"),
            Routine("query", "pe_accessible", "shmem_pe_accessible(pe)"),
            Routine("query", "addr_accessible", "shmem_addr_accessible(addr, pe)"),
            Routine("memory", "ptr", "shmem_ptr(dest, pe)"),
            Routine("query", "info_get_version", "shmem_info_get_version(major, minor)"),
            Routine("query", "info_get_name", "shmem_info_get_name(name)"),
            CRoutine("start_pes(npes)", "init"),
            CRoutine("ishmemx_init_attr(attr)", "init"),
            Routine("init_finalize", "get_uniqueid", "ishmemx_get_uniqueid(uid)"),
            CRoutine(
                "ishmemx_runtime_get_type", absent="ishmem has one runtime, so there is no type to query"
            ),
            Routine("init_finalize", "is_initialized"),
        ),
    ),
    Chapter(
        "Memory",
        ("memory", "statics", "interop"),
        (
            _allocation("malloc", "shmem_malloc(size)"),
            _allocation("calloc", "shmem_calloc(count, size)"),
            _allocation("align", "shmem_align(alignment, size)"),
            _allocation("realloc", "shmem_realloc(ptr, size)"),
            _allocation("malloc_with_hints", "shmem_malloc_with_hints(size, hints)"),
            _allocation("free", "shmem_free(ptr)"),
            _allocation("arange"),
            _allocation("array"),
            _allocation("empty"),
            _allocation("empty_like"),
            _allocation("free_all"),
            _allocation("full"),
            _allocation("full_like"),
            Routine("memory", "is_symmetric"),
            _allocation("ones"),
            _allocation("ones_like"),
            Routine("memory", "view"),
            _allocation("zeros"),
            _allocation("zeros_like"),
            Routine("statics", "static", waits=Waits.PES),
            Routine("interop", "from_dlpack"),
            Routine("interop", "register", waits=Waits.PES),
            Routine("interop", "deregister", waits=Waits.PES),
            Routine("interop", "host_view"),
        ),
    ),
    Chapter(
        "Teams",
        ("teams", "active_sets"),
        (
            Routine("teams", "team_my_pe", "shmem_team_my_pe(team)"),
            Routine("teams", "team_n_pes", "shmem_team_n_pes(team)"),
            Routine("teams", "team_get_config", "shmem_team_get_config(team, config_mask, config)"),
            Routine("teams", "team_translate_pe", "shmem_team_translate_pe(src_team, src_pe, dest_team)"),
            Routine(
                "teams",
                "team_split_strided",
                "shmem_team_split_strided(parent_team, start, stride, size, config, config_mask, new_team)",
                waits=Waits.PES,
            ),
            Routine(
                "teams",
                "team_split_2d",
                "shmem_team_split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, "
                "yaxis_mask, yaxis_team)",
                waits=Waits.PES,
            ),
            Routine("teams", "team_destroy", "shmem_team_destroy(team)", waits=Waits.PES),
            Routine("teams", "shrink", waits=Waits.PES),
            Routine("collectives", "team_sync", "shmem_team_sync(team)", waits=Waits.PES, forms=(GROUP, QUEUE)),
            Routine("teams", "team_ptr", "shmem_team_ptr(team, dest, pe)"),
            Routine("active_sets", "active_set", waits=Waits.PES),
        ),
    ),
    Chapter(
        "Contexts",
        ("contexts",),
        (
            Routine("contexts", "ctx_create", "shmem_ctx_create(options, ctx)"),
            CRoutine("shmem_team_create_ctx(team, options, ctx)", "ctx_create"),
            Routine("contexts", "ctx_destroy", "shmem_ctx_destroy(ctx)"),
            Routine("contexts", "ctx_get_team", "shmem_ctx_get_team(ctx, team)"),
            Routine(
                "contexts", "ctx_session_start", "shmem_ctx_session_start(ctx, options, config, config_mask)"
            ),
            Routine("contexts", "ctx_session_stop", "shmem_ctx_session_stop(ctx)"),
            Routine("contexts", "ctx_fence"),
            Routine("contexts", "ctx_flush"),
            Routine("contexts", "ctx_pe_quiet"),
            Routine("contexts", "ctx_quiet"),
        ),
    ),
    Chapter(
        "Remote memory access",
        ("rma", "strided", "indexed"),
        (
            Routine("rma", "put", "shmem_put(dest, source, nelems, pe)", Data.PUT, forms=(GROUP, QUEUE)),
            Routine("rma", "get", "shmem_get(dest, source, nelems, pe)", Data.GET, forms=(GROUP, QUEUE)),
            Routine("rma", "p", "shmem_p(dest, value, pe)", Data.PUT),
            Routine("rma", "g", "shmem_g(source, pe)", Data.GET),
            Routine("strided", "iput", f"shmem_iput({_STRIDED})", Data.PUT, forms=(GROUP, QUEUE)),
            Routine("strided", "iget", f"shmem_iget({_STRIDED})", Data.GET, forms=(GROUP, QUEUE)),
            Routine("strided", "ibput", f"shmem_ibput({_BLOCKS})", Data.PUT, forms=(GROUP, QUEUE)),
            Routine("strided", "ibget", f"shmem_ibget({_BLOCKS})", Data.GET, forms=(GROUP, QUEUE)),
            Routine("rma", "put_nbi", "shmem_put_nbi(dest, source, nelems, pe)", Data.PUT, forms=(GROUP, QUEUE)),
            Routine("rma", "get_nbi", "shmem_get_nbi(dest, source, nelems, pe)", Data.GET, forms=(GROUP, QUEUE)),
            Routine("indexed", "ixget", data=Data.GET, forms=(GROUP,)),
            Routine("indexed", "ixput", data=Data.PUT, forms=(GROUP,)),
        ),
    ),
    Chapter("Atomics", ("amo",), tuple(_atomics())),
    Chapter(
        "Signals",
        ("signals",),
        (
            Routine("signals", "put_signal", f"shmem_put_signal({_SIGNAL})", Data.PUT, forms=(GROUP, QUEUE)),
            Routine("signals", "put_signal_nbi", f"shmem_put_signal_nbi({_SIGNAL})", Data.PUT, forms=(GROUP, QUEUE)),
            Routine("signals", "signal_fetch", "shmem_signal_fetch(sig_addr)"),
            Routine("signals", "signal_add", "shmem_signal_add(sig_addr, signal, pe)", Data.PUT, forms=(QUEUE,)),
            Routine("signals", "signal_set", "shmem_signal_set(sig_addr, signal, pe)", Data.PUT, forms=(QUEUE,)),
            Routine(
                "signals",
                "signal_wait_until",
                "shmem_signal_wait_until(sig_addr, cmp, cmp_value)",
                waits=Waits.VARIABLE,
                forms=(GROUP, QUEUE),
            ),
        ),
    ),
    Chapter(
        "Waiting and testing",
        ("wait", "wait_sets"),
        (
            Routine(
                "wait",
                "wait_until",
                "shmem_wait_until(ivar, cmp, cmp_value)",
                waits=Waits.VARIABLE,
                forms=(GROUP, QUEUE),
            ),
            *_sets("wait_until"),
            Routine("wait", "test", "shmem_test(ivar, cmp, cmp_value)", forms=(GROUP,)),
            *_sets("test"),
        ),
    ),
    Chapter(
        "Ordering",
        ("order",),
        (
            Routine("order", "fence", "shmem_fence()", forms=(GROUP, QUEUE)),
            Routine("order", "quiet", "shmem_quiet()", forms=(GROUP, QUEUE)),
            Routine("order", "pe_quiet", "shmem_pe_quiet(target_pes, npes)"),
            Routine("order", "flush", forms=(GROUP,)),
        ),
    ),
    Chapter(
        "Collectives",
        ("collectives", "reductions", "vcollectives"),
        (
            Routine("collectives", "barrier_all", "shmem_barrier_all()", waits=Waits.PES, forms=(GROUP, QUEUE)),
            Routine("collectives", "sync_all", "shmem_sync_all()", waits=Waits.PES, forms=(GROUP, QUEUE)),
            CRoutine("shmem_barrier(PE_start, logPE_stride, PE_size, pSync)", "active_set"),
            CRoutine("shmem_sync(PE_start, logPE_stride, PE_size, pSync)", "active_set"),
            *map(_collective, COLLECTIVES.values()),
        ),
    ),
    Chapter(
        "Locks",
        ("locks",),
        (
            Routine("locks", "set_lock", "shmem_set_lock(lock)", waits=Waits.VARIABLE),
            Routine("locks", "test_lock", "shmem_test_lock(lock)"),
            Routine("locks", "clear_lock", "shmem_clear_lock(lock)"),
            Routine("locks", "lock"),
        ),
    ),
    Chapter(
        "Utilities",
        (),
        (
            CRoutine("shmem_pcontrol", absent="profiling interface of C; use the profilers of Python"),
            CRoutine("shmem_set_cache_inv", absent="deprecated, without effect on coherent hardware"),
            CRoutine("shmem_udcflush", absent="deprecated, without effect on coherent hardware"),
            CRoutine(
                "ishmemx_print",
                absent="use print: in kernels it takes numbers and constant text; ishmem run adds the PE number",
            ),
            CRoutine("ishmemx_timestamp", absent=_NO_TIMESTAMPS),
            CRoutine("ishmemx_timestamp_nbi", absent=_NO_TIMESTAMPS),
            CRoutine("ishmemx_ts_handle", absent=_NO_TIMESTAMPS),
        ),
    ),
    Chapter(
        "Work-groups",
        ("work_groups",),
        (Routine("work_groups", "max_work_groups"), Routine("work_groups", "sync_work_groups")),
    ),
    Chapter("Inference", ("graph", "inference", "moe"), ()),
)
"""The chapters with all routines. Inference has classes only."""

ROUTINES = {row.name: row for chapter in CHAPTERS for row in chapter.rows if isinstance(row, Routine)}
"""The routines that ``ishmem`` has, by name."""


def exported(module: str) -> list[str]:
    """Return the names of the routines and forms in a module such as ``ishmem.rma``."""
    name = module.rpartition(".")[2]
    return [function for row in ROUTINES.values() for home, function in row.locations if home == name]


def of_call(function: str, owner: str = "") -> tuple[Data, Waits]:
    """Return the direction of the data of a call of ``function``, and the kind of its wait; none if it is no routine.

    A method of class ``owner`` is the routine with the name of the class before its own, or else that of its own name:
    ``Team.sync`` is ``team_sync``, and ``Ctx.put`` is ``put``.
    """
    name = function.removesuffix(QUEUE)
    row = ROUTINES.get(f"{owner.lower()}_{name}") or ROUTINES.get(name)
    if row is None:
        return Data.NONE, Waits.NOTHING
    return row.data, row.waits if name == function else Waits.NOTHING
