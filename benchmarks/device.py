"""Operations inside kernels: by one work-item (``device``) and by a work-group (``group``).

The time of an operation is that of a kernel with a long loop of it, divided by the number of iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, case, values
from ishmem.benchmarks.copies import STRIDE, at_origin, at_target
from ishmem.benchmarks.waiting import PLAYERS, TRIP, _trip_names, _two
from ishmem.benchmarks.worlds import Ishmem

GROUP = 256
SIZES = (64, 4096, 65536, 1 << 20)
STORES = "the same loop of plain loads and stores, through ptr"
COPY = "a hand-written copy kernel"
CALL = "dpex.call_kernel({kernel}, {shape}, dest, source, pe, count)"


def _names(w: Ishmem, dest: Any, source: Any, *kernels: str) -> dict[str, Any]:
    from ishmem import dpex
    from ishmem.benchmarks.kernels import KERNELS

    names = {"dpex": dpex, "kapi": dpex.kernel_api, "dest": dest, "source": source, "pe": w.right}
    names.update({name: KERNELS[name] for name in kernels})
    return names


def _plan(w: Ishmem, kernel: str, reference: str, dest: Any, source: Any, check: Any, **more: Any) -> Plan:
    """Return the plan of a kernel with a reference kernel as limit, run by PE 0; ``shape`` is the index space."""
    shape = more.pop("shape", "kapi.Range(1)")
    names = _names(w, dest, source, kernel, reference)
    limit = CALL.format(kernel=reference, shape=shape)
    return Plan(CALL.format(kernel=kernel, shape=shape), names, check, counted=True, active=(0,), limit=limit, **more)


def _register_words(op: str, kernel: str, reference: str, at_end: Any) -> None:
    @case(op, "device", limit=STORES)
    def body(w: Ishmem) -> Plan:
        return _words(w, kernel, reference, at_end)


def _words(w: Ishmem, kernel: str, reference: str, at_end: Any) -> Plan:
    """Return the plan of a kernel that loops over an array, with one word per operation."""
    from ishmem.benchmarks.kernels import WORDS

    dest, source = w.blank(8 * WORDS), w.filled(8 * WORDS)
    check = at_end(w, dest, 8 * WORDS, (0,))
    return _plan(w, kernel, reference, dest, source, check, nbytes=8, operations=WORDS)


_register_words("p", "p", "store_words", at_target)
_register_words("g", "g", "load_words", at_origin)


def _register_copies(op: str, words: str, reference: str, at_end: Any) -> None:
    @case(op, "device", size=(8, *SIZES), limit=STORES)
    def body(w: Ishmem, size: int) -> Plan:
        if size == 8:
            return _words(w, f"{op}_words", words, at_end)
        dest, source = w.blank(size), w.filled(size)
        check = at_end(w, dest, size, (0,))
        return _plan(w, op, reference, dest, source, check, nbytes=size)

    @case(op, "group", size=SIZES, limit=COPY)
    def by_group(w: Ishmem, size: int) -> Plan:
        dest, source = w.blank(size), w.filled(size)
        check, shape = at_end(w, dest, size, (0,)), f"kapi.NdRange(({GROUP},), ({GROUP},))"
        return _plan(w, f"{op}_work_group", f"{reference}_by_group", dest, source, check, nbytes=size, shape=shape)


_register_copies("put", "store_words", "copy_to", at_target)
_register_copies("get", "load_words", "copy_from", at_origin)


@case("iput", "device", size=(64, 4096, 65536), limit=STORES)
def iput(w: Ishmem, size: int) -> Plan:
    """Return the plan of an iput of every 4th element to every 4th element."""
    dest, source = w.blank(STRIDE * size), w.filled(STRIDE * size)
    wanted = np.zeros(STRIDE * size // 8, "int64")
    if w.received((0,)):
        wanted[::STRIDE] = values(STRIDE * size, w.left)[::STRIDE]
    return _plan(w, "iput", "strided_store", dest, source, lambda done: w.expect(dest, wanted), nbytes=size)


def _register_atomics(op: str) -> None:
    @case(op, "device", limit="the same loop with AtomicRef, through ptr")
    def body(w: Ishmem) -> Plan:
        dest, source = ishmem.zeros(2, dtype="int64"), ishmem.zeros(1, dtype="int64")

        def check(done: int) -> None:
            w.expect(dest[:1], np.array([done if w.received((0,)) else 0]))

        return _plan(w, op, "reference_add", dest, source, check, nbytes=8)


def _register_ordering(op: str) -> None:
    @case(op, "device", limit="a bare atomic fence")
    def body(w: Ishmem) -> Plan:
        dest, source = ishmem.zeros(1, dtype="int64"), ishmem.zeros(1, dtype="int64")
        return _plan(w, op, "bare_fence", dest, source, None)


for _op in ("atomic_fetch_add", "atomic_add"):
    _register_atomics(_op)
for _op in ("fence", "quiet"):
    _register_ordering(_op)


@case("put_signal", "device", size=(8, 4096))
def put_signal(w: Ishmem, size: int) -> Plan:
    dest, source, signal = w.blank(size), w.filled(size), ishmem.zeros(1, dtype="uint64")
    names = {**_names(w, dest, source, "put_signal"), "signal": signal}
    got = w.received((0,))

    def check(done: int) -> None:
        w.expect(dest, values(size, w.left) * (1 if got else 0))
        w.expect(signal, np.array([done if got else 0], "uint64"))

    statement = "dpex.call_kernel(put_signal, kapi.Range(1), dest, source, signal, pe, count)"
    return Plan(statement, names, check, size, counted=True, active=(0,))


@case("ping_pong", "device", limit=TRIP)
def ping_pong(w: Ishmem) -> Plan:
    """Return the plan of p and wait_until in kernels of two PEs; the time is that of one direction."""
    other = _two(w)
    flag, spare = ishmem.zeros(1, dtype="int64"), ishmem.zeros(1, dtype="int64")
    names = {**_names(w, flag, flag, "ping_pong"), "flag": flag, **_trip_names(w, spare, other), "pe": other}
    names["first"] = int(w.pe == 0)
    check = lambda done: w.expect(flag, np.array([done if w.pe in PLAYERS else 0]))  # noqa: E731
    return Plan(
        "dpex.call_kernel(ping_pong, kapi.Range(1), flag, pe, first, done, count)", names, check, 8, 2, True, PLAYERS,
        limit="trip(own, theirs, done, count, first)", limit_counted=True, limit_copies=False,
    )  # fmt: skip


@case("barrier_all", "device", limit=TRIP)
def barrier_all(w: Ishmem) -> Plan:
    other = _two(w)
    spare = ishmem.zeros(1, dtype="int64")
    names = {**_names(w, spare, spare, "barrier_all"), **_trip_names(w, spare, other)}
    # One round trip corresponds to two barriers of 2 PEs.
    limit = "trip(own, theirs, done, (count + 1) // 2, first)" if w.n_pes == 2 else None
    statement = "dpex.call_kernel(barrier_all, kapi.Range(1), dest, count)"
    return Plan(statement, names, counted=True, limit=limit)
