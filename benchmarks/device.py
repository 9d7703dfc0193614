"""Operations inside kernels: by one work-item (``device``) and by a work-group (``group``).

The time of an operation is that of a kernel with a long loop of it, divided by the number of iterations.
"""

from __future__ import annotations

from typing import Any

import ishmem
from ishmem.benchmarks.cases import Check, Plan, case
from ishmem.benchmarks.copies import STRIDE, plan_of_copy
from ishmem.benchmarks.elements import with_signal
from ishmem.benchmarks.waiting import PLAYERS, TRIP, other_player, played, with_trip
from ishmem.benchmarks.worlds import FIRST, Ishmem

GROUP = 256
SIZES = (64, 4096, 65536, 1 << 20)
STORES = "the same loop of plain loads and stores, through ptr"
COPY = "a hand-written copy kernel"
ONE, ALL = "kapi.Range(1)", f"kapi.NdRange(({GROUP},), ({GROUP},))"


def _with_kernels(plan: Plan, *names: str) -> Plan:
    """Return the plan with kernels in its namespace, and with what calls them."""
    from ishmem import dpex
    from ishmem.benchmarks.kernels import KERNELS

    plan.names.update({name: KERNELS[name] for name in names}, dpex=dpex, kapi=dpex.kernel_api)
    plan.counted = True
    return plan


def _call(kernel: str, arguments: str, shape: str = ONE) -> str:
    return f"dpex.call_kernel({kernel}, {shape}, {arguments}, count)"


def _copied(w: Ishmem, kernel: str, reference: str, size: int, puts: bool, shape: str = ONE, **more: Any) -> Plan:
    """Return the plan of a kernel that copies, run by PE 0, with a reference kernel as limit."""
    arguments = "far, own, pe" if puts else "own, far, pe"
    statement, limit = (_call(each, arguments, shape) for each in (kernel, reference))
    return _with_kernels(plan_of_copy(w, statement, size, puts, limit=limit, **more), kernel, reference)


def _words(w: Ishmem, kernel: str, reference: str, puts: bool) -> Plan:
    """Return the plan of a kernel that loops over an array, with one word per operation."""
    from ishmem.benchmarks.kernels import WORDS

    plan = _copied(w, kernel, reference, 8 * WORDS, puts, operations=WORDS)
    plan.nbytes = 8
    return plan


def _register_copies(puts: bool, element: str, op: str, words: str, reference: str) -> None:
    @case(element, "device", limit=STORES)
    def of_elements(w: Ishmem) -> Plan:
        return _words(w, element, words, puts)

    @case(op, "device", size=(8, *SIZES), limit=STORES)
    def by_item(w: Ishmem, size: int) -> Plan:
        return _words(w, f"{op}_words", words, puts) if size == 8 else _copied(w, op, reference, size, puts)

    @case(op, "group", size=SIZES, limit=COPY)
    def by_group(w: Ishmem, size: int) -> Plan:
        return _copied(w, f"{op}_work_group", f"{reference}_by_group", size, puts, ALL)


_register_copies(True, "p", "put", "store_words", "copy_to")
_register_copies(False, "g", "get", "load_words", "copy_from")


@case("iput", "device", size=(64, 4096, 65536), limit=STORES)
def iput(w: Ishmem, size: int) -> Plan:
    """Return the plan of an iput of every 4th element to every 4th element."""
    return _copied(w, "iput", "strided_store", size, True, step=STRIDE)


def _register_word(op: str, reference: str, limit: str, changes: bool) -> None:
    """Register an operation of PE 0 on one word or on none; if it changes the word, each call adds 1."""

    @case(op, "device", limit=limit)
    def body(w: Ishmem) -> Plan:
        dest, source = ishmem.zeros(2, dtype="int64"), ishmem.zeros(1, dtype="int64")
        statement, bare = (_call(kernel, "dest, source, pe") for kernel in (op, reference))
        check: Check | None = w.counted(dest[:1]) if changes else None
        names = w.names(dest=dest, source=source)
        plan = Plan(statement, names, check, 8 if changes else 0, active=FIRST, limit=bare)
        return _with_kernels(plan, op, reference)


for _op in ("atomic_fetch_add", "atomic_add"):
    _register_word(_op, "reference_add", "the same loop with AtomicRef, through ptr", True)
for _op in ("fence", "quiet"):
    _register_word(_op, "bare_fence", "a bare atomic fence", False)


@case("put_signal", "device", size=(8, 4096))
def put_signal(w: Ishmem, size: int) -> Plan:
    plan = plan_of_copy(w, _call("put_signal", "far, own, signal, pe"), size, True)
    return _with_kernels(with_signal(w, plan), "put_signal")


@case("ping_pong", "device", limit=TRIP)
def ping_pong(w: Ishmem) -> Plan:
    """Return the plan of p and wait_until in kernels of two PEs; the time is that of one direction."""
    flag = ishmem.zeros(1, dtype="int64")
    names = w.names(flag=flag, other=other_player(w))
    plan = Plan(_call("ping_pong", "flag, other, first, done"), names, played(w, flag), 8, 2, active=PLAYERS)
    return with_trip(w, _with_kernels(plan, "ping_pong"))


@case("barrier_all", "device", limit=TRIP)
def barrier_all(w: Ishmem) -> Plan:
    plan = _with_kernels(Plan("dpex.call_kernel(barrier_all, kapi.Range(1), spare, count)", w.names()), "barrier_all")
    plan.names["spare"] = ishmem.zeros(1, dtype="int64")
    # One round trip corresponds to two barriers of 2 PEs.
    return with_trip(w, plan, "trip(own, theirs, done, (count + 1) // 2, first)") if w.n_pes == 2 else plan
