"""Host copies with each kind of array as the local argument: symmetric, private dpnp, usm_ndarray and numpy."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from ishmem.benchmarks.cases import Plan, case, values
from ishmem.benchmarks.copies import MEMCPY, WINDOW, at_origin, at_target, nothing
from ishmem.benchmarks.worlds import Ishmem, Mpi

ARGUMENTS = ("symmetric", "dpnp", "dpctl", "numpy")
LARGE, SMALL = (8, 4 << 10, 16 << 10, 1 << 20, 16 << 20), (8, 4 << 10)
_ONE = (0,)  # the calling PE


class Operation(NamedTuple):
    """A host operation.

    Attributes:
        case: Name of the benchmark case.
        puts: Whether the local array is the source.
        call: The ishmem call; ``own`` is the local array, ``far`` the symmetric one.
        mpi: The equivalent mpi4py call; empty if there is none.
        sizes: Message sizes in bytes.
        times: Calls per timed statement.
    """

    case: str
    puts: bool
    call: str
    mpi: str
    sizes: tuple[int, ...]
    times: int = 1


_PUT, _GET = "window.Put(own, pe)", "window.Get(own, pe)"
OPERATIONS = (
    Operation("put_from", True, "ishmem.put(far, own, pe)", _PUT, LARGE),
    Operation("get_into", False, "ishmem.get(own, far, pe)", _GET, LARGE),
    Operation("put_nbi_from", True, "ishmem.put_nbi(far, own, pe)", _PUT, SMALL, WINDOW),
    Operation("get_nbi_into", False, "ishmem.get_nbi(own, far, pe)", _GET, SMALL, WINDOW),
    Operation("iput_from", True, "ishmem.iput(far, own, 1, 1, n, pe)", _PUT, SMALL),
    Operation("iget_into", False, "ishmem.iget(own, far, 1, 1, n, pe)", _GET, SMALL),
    Operation("put_signal_from", True, "ishmem.put_signal(far, own, signal, 1, 1, pe)", "", SMALL),
)


def own_array(w: Ishmem, argument: str, contents: np.ndarray[Any, Any]) -> Any:
    """Return an array of kind ``argument`` with these contents."""
    if argument == "numpy":
        return contents
    if argument == "dpctl":
        from ishmem.environment.arrays import tensor

        return tensor.asarray(contents)
    if argument == "dpnp":
        import dpnp

        return dpnp.asarray(contents)
    array = w.blank(contents.nbytes)
    array[...] = contents
    return array


def own_view(w: Ishmem, own: Any, argument: str, otherwise: Any) -> Any:
    """Return the bytes of an own array as the host reaches them; of ``otherwise`` where only the copy engine does."""
    import ishmem
    from ishmem import _core

    if argument == "numpy":
        return memoryview(own).cast("B")
    if argument == "symmetric":
        return w.host_view(own, w.pe)
    scratch = w.blank(own.nbytes)
    for _ in range(2):  # a large allocation is mapped at its second use
        ishmem.put(scratch, own, w.pe)
    facts = _core.describe(own)
    address = _core.private_place(facts[0], own.nbytes) if facts else 0
    if not address:
        return w.host_view(otherwise, w.pe)
    return memoryview((ctypes.c_char * own.nbytes).from_address(address)).cast("B")


def _repeated(call: str, times: int, end: str) -> str:
    return call if times == 1 else f"for _ in range({times}): {call}\n{end}"


def _register(operation: Operation) -> None:
    limit_words = MEMCPY if operation.times == 1 else "an empty Python call for each"

    @case(operation.case, "host", size=operation.sizes, limit=limit_words, argument=ARGUMENTS)
    def body(w: Ishmem, size: int, argument: str) -> Plan:
        import ishmem

        zeros = np.zeros_like(values(size, 0))
        far, spare = (w.blank(size), w.filled(size)) if operation.puts else (w.filled(size), w.blank(size))
        own = own_array(w, argument, values(size, w.pe) if operation.puts else zeros)
        signal = ishmem.zeros(1, dtype="uint64")
        names: dict[str, Any] = {"ishmem": ishmem, "far": far, "own": own, "signal": signal, "n": size // 8}
        here, there = own_view(w, own, argument, spare), w.host_view(far, w.right)
        names.update(pe=w.right, nothing=nothing, here=here, there=there)
        limit = "there[:] = here" if operation.puts else "here[:] = there"
        if operation.times > 1:
            limit = f"for _ in range({operation.times}): nothing(far, own, pe)"
        check = at_target(w, far, size, _ONE) if operation.puts else at_origin(w, own, size, _ONE)
        statement = _repeated(operation.call, operation.times, "ishmem.quiet()")
        return Plan(
            statement, names, check, size, operation.times, active=_ONE, limit=limit, limit_copies=operation.times == 1
        )

    if operation.mpi:
        _register_mpi(body, operation)


def _register_mpi(body: Any, operation: Operation) -> None:
    @body.peer("mpi4py")
    def _(w: Mpi, size: int, argument: str) -> Plan:
        contents = values(size, w.pe)
        window, far = w.window(size) if operation.puts else w.window(size, contents)
        own = contents if operation.puts else np.zeros_like(contents)
        check = at_target(w, far, size, _ONE) if operation.puts else at_origin(w, own, size, _ONE)
        statement = operation.mpi + "; window.Flush(pe)"
        if operation.times > 1:
            statement = _repeated(operation.mpi, operation.times, "window.Flush(pe)")
        names = {"window": window, "own": own, "pe": w.right}
        return Plan(statement, names, check, size, operation.times, active=_ONE)


for _operation in OPERATIONS:
    _register(_operation)
