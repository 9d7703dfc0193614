"""Operations of the host on one element: p, g, atomics and signals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Check, Plan, case
from ishmem.benchmarks.copies import plan_of_copy
from ishmem.benchmarks.worlds import FIRST, Ishmem, Mpi, World

CALL = "an empty Python call with the same arguments"
START, VALUE = 5, 9


class Element(NamedTuple):
    """An operation on one 64-bit element, whose initial value is `START`.

    Attributes:
        call: The call, without the module's name; ``a`` is the array.
        mpi: The statement of mpi4py; ``window`` is that of the array.
        adds: Whether each call adds 1 to the element; otherwise the first call sets it to `VALUE`.
        fetches: Whether the call returns the element and does not change it.
    """

    call: str
    mpi: str
    adds: bool = False
    fetches: bool = False


ELEMENTS = {
    "p": Element(f"p(a, {VALUE}, pe)", "window.Put(value, pe)"),
    "g": Element("g(a, pe)", "window.Get(old, pe)", fetches=True),
    "atomic_set": Element(f"atomic_set(a, {VALUE}, pe)", "window.Accumulate(value, pe, op=REPLACE)"),
    "atomic_fetch": Element("atomic_fetch(a, pe)", "window.Fetch_and_op(value, old, pe, 0, NO_OP)", fetches=True),
    "atomic_add": Element("atomic_add(a, 1, pe)", "window.Accumulate(one, pe, op=SUM)", adds=True),
    "atomic_inc": Element("atomic_inc(a, pe)", "window.Accumulate(one, pe, op=SUM)", adds=True),
    "atomic_fetch_add": Element("atomic_fetch_add(a, 1, pe)", "window.Fetch_and_op(one, old, pe, 0, SUM)", adds=True),
    "atomic_swap": Element(f"atomic_swap(a, {VALUE}, pe)", "window.Fetch_and_op(value, old, pe, 0, REPLACE)"),
    "atomic_compare_swap": Element(
        f"atomic_compare_swap(a, {START}, {VALUE}, pe)", "window.Compare_and_swap(value, start, old, pe, 0)"
    ),
}


def _check(w: World, element: Element, array: Any, again: Any) -> Check:
    """Return the check of the array; ``again`` is a function that fetches the element once more."""

    def check(done: int) -> None:
        changed = START + done if element.adds else VALUE
        w.expect(array, np.array([changed if w.received(FIRST) and not element.fetches else START]))
        if element.fetches:
            w.expect(np.array([again()]), np.array([START]))

    return check


def _register(op: str, element: Element) -> None:
    @case(op, "host", limit=CALL)
    def body(w: Ishmem) -> Plan:
        array = ishmem.full(1, START, dtype="int64")
        names, statement = w.names(a=array), f"ishmem.{element.call}"
        check = _check(w, element, array, lambda: eval(statement, names))
        limit = f"nothing({element.call.partition('(')[2]}"
        return Plan(statement, names, check, 8, active=FIRST, limit=limit, limit_copies=False)

    @body.peer("mpi4py")
    def _(w: Mpi) -> Plan:
        memory, statement = w.window(8, np.array([START]))[1], f"{element.mpi}; window.Flush(pe)"
        operations = {name: getattr(w.MPI, name) for name in ("SUM", "REPLACE", "NO_OP")}
        buffers = {"value": VALUE, "one": 1, "start": START, "old": 0}
        names = w.names(**operations, **{name: np.array([number]) for name, number in buffers.items()})

        def again() -> Any:
            exec(statement, names)
            return names["old"][0]

        return Plan(statement, names, _check(w, element, memory, again), 8, active=FIRST)


for _op, _element in ELEMENTS.items():
    _register(_op, _element)


@case("put_signal", "host", size=(8, 4096, 1 << 20))
def put_signal(w: Ishmem, size: int) -> Plan:
    return with_signal(w, plan_of_copy(w, "ishmem.put_signal(far, own, signal, 1, ishmem.SIGNAL_ADD, pe)", size, True))


def with_signal(w: Ishmem, plan: Plan) -> Plan:
    """Return the plan of a put with a signal that counts the puts, added to a plan of a copy."""
    signal = plan.names["signal"] = ishmem.zeros(1, dtype="uint64")
    copied, counted = plan.check, w.counted(signal)
    assert copied
    plan.check = lambda done: (copied(done), counted(done))
    return plan


@put_signal.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    memory = w.far(size + 8, filled=False)
    names = w.names(source=w.filled(size), one=np.array([1]), target=[size, 1, w.MPI.LONG])
    copied, counted = w.copied(memory[: size // 8], size, True), w.counted(memory[size // 8 :])
    put, add = "window.Put(source, pe)", "window.Accumulate(one, pe, target, MPI.SUM)"
    statement = f"{put}; window.Flush(pe); {add}; window.Flush(pe)"
    return Plan(statement, names, lambda done: (copied(done), counted(done)), size, active=FIRST)
