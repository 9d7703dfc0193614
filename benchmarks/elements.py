"""Operations of the host on one element: p, g, atomics and signals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, case, values
from ishmem.benchmarks.copies import nothing
from ishmem.benchmarks.worlds import Ishmem, Mpi

CALL = "an empty Python call with the same arguments"
START, VALUE = 5, 9


class Element(NamedTuple):
    """An operation on one 64-bit element, whose initial value is `START`.

    Attributes:
        call: The call, without the module's name; ``a`` is the array.
        mpi: The statement of mpi4py; ``w`` is the window.
        adds: Whether each call adds 1 to the element; otherwise the first call sets it to `VALUE`.
        fetches: Whether the call returns the element and does not change it.
    """

    call: str
    mpi: str
    adds: bool = False
    fetches: bool = False


ELEMENTS = {
    "p": Element(f"p(a, {VALUE}, pe)", "w.Put(value, pe)"),
    "g": Element("g(a, pe)", "w.Get(old, pe)", fetches=True),
    "atomic_set": Element(f"atomic_set(a, {VALUE}, pe)", "w.Accumulate(value, pe, op=REPLACE)"),
    "atomic_fetch": Element("atomic_fetch(a, pe)", "w.Fetch_and_op(value, old, pe, 0, NO_OP)", fetches=True),
    "atomic_add": Element("atomic_add(a, 1, pe)", "w.Accumulate(one, pe, op=SUM)", adds=True),
    "atomic_inc": Element("atomic_inc(a, pe)", "w.Accumulate(one, pe, op=SUM)", adds=True),
    "atomic_fetch_add": Element("atomic_fetch_add(a, 1, pe)", "w.Fetch_and_op(one, old, pe, 0, SUM)", adds=True),
    "atomic_swap": Element(f"atomic_swap(a, {VALUE}, pe)", "w.Fetch_and_op(value, old, pe, 0, REPLACE)"),
    "atomic_compare_swap": Element(
        f"atomic_compare_swap(a, {START}, {VALUE}, pe)", "w.Compare_and_swap(value, start, old, pe, 0)"
    ),
}


def _wanted(w: Any, element: Element, done: int) -> list[int]:
    if element.fetches or not w.received((0,)):
        return [START]
    return [START + done if element.adds else VALUE]


def _check(w: Any, element: Element, array: Any, again: Any) -> Any:
    def check(done: int) -> None:
        w.expect(array, np.array(_wanted(w, element, done)))
        if element.fetches:
            w.expect(np.array([again()]), np.array([START]))

    return check


def _register(op: str, element: Element) -> None:
    @case(op, "host", limit=CALL)
    def body(w: Ishmem) -> Plan:
        array = ishmem.full(1, START, dtype="int64")
        names: dict[str, Any] = {"ishmem": ishmem, "a": array, "pe": w.right, "nothing": nothing}
        check = _check(w, element, array, lambda: eval(f"ishmem.{element.call}", names))
        limit = f"nothing({element.call.partition('(')[2]}"
        return Plan(f"ishmem.{element.call}", names, check, 8, active=(0,), limit=limit, limit_copies=False)

    @body.peer("mpi4py")
    def _(w: Mpi) -> Plan:
        window, memory = w.window(8, np.array([START]))
        names = {name: getattr(w.MPI, name) for name in ("SUM", "REPLACE", "NO_OP")}
        buffers = {"value": VALUE, "one": 1, "start": START, "old": 0}
        names.update({name: np.array([number]) for name, number in buffers.items()}, w=window, pe=w.right)

        def again() -> Any:
            exec(f"{element.mpi}; w.Flush(pe)", names)
            return names["old"][0]

        return Plan(f"{element.mpi}; w.Flush(pe)", names, _check(w, element, memory, again), 8, active=(0,))


for _op, _element in ELEMENTS.items():
    _register(_op, _element)


@case("put_signal", "host", size=(8, 4096, 1 << 20))
def put_signal(w: Ishmem, size: int) -> Plan:
    source, dest, signal = w.filled(size), w.blank(size), ishmem.zeros(1, dtype="uint64")
    names = {"ishmem": ishmem, "dest": dest, "source": source, "signal": signal, "pe": w.right}

    def check(done: int) -> None:
        got = w.received((0,))
        w.expect(dest, values_or_zeros(w, size, got))
        w.expect(signal, np.array([done if got else 0], "uint64"))

    statement = "ishmem.put_signal(dest, source, signal, 1, ishmem.SIGNAL_ADD, pe)"
    return Plan(statement, names, check, size, active=(0,))


@put_signal.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    window, memory = w.window(size + 8)
    names: dict[str, Any] = {"w": window, "source": values(size, w.pe), "pe": w.right, "SUM": w.MPI.SUM}
    names.update(one=np.array([1]), target=[size, 1, w.MPI.LONG])
    got = w.received((0,))

    def check(done: int) -> None:
        w.expect(memory[: size // 8], values_or_zeros(w, size, got))
        w.expect(memory[size // 8 :], np.array([done if got else 0]))

    statement = "w.Put(source, pe); w.Flush(pe); w.Accumulate(one, pe, target, SUM); w.Flush(pe)"
    return Plan(statement, names, check, size, active=(0,))


def values_or_zeros(w: Any, size: int, got: bool) -> np.ndarray[Any, Any]:
    """Return the left neighbour's values if they have arrived (``got``), else zeros."""
    return values(size, w.left) * (1 if got else 0)
