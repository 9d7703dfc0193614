"""Signals: a put that updates a flag at its destination after its data, and operations on such flags.

The same names work on the host and in kernels. A signal is an element of a symmetric array of int32, int64, uint32 or
uint64 (OpenSHMEM has uint64 only); ``SIGNAL_SET`` and ``SIGNAL_ADD`` are atomic to each other, on the host and in
kernels. Once a PE has read the new value of a signal, the data of its put are visible to it, and those of all puts of
the origin PE that a fence ordered before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ishmem import _core, amo, rma, wait
from ishmem.common import error_texts
from ishmem.common.constants import SignalOp
from ishmem.common.routines import exported
from ishmem.common.type_tables import ATOMICS, SIGNAL_TYPES
from ishmem.runtime import check, job
from ishmem.runtime.docstrings import arguments, arguments_of
from ishmem.runtime.stubs import fast_path, work_group_forms

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index

__all__ = exported(__name__)

_ALLOWED = tuple(SignalOp)
_ADD, _SET = (amo.operation(ATOMICS[name], SIGNAL_TYPES) for name in ("atomic_add", "atomic_set"))


class Signal(NamedTuple):
    """The arguments of `put_signal` that describe its signal, not checked."""

    sig_addr: Any
    signal: Any
    sig_op: Any
    index: Any


@fast_path(_core.put_signal)
def put_signal(
    dest: ndarray,
    source: Any,
    sig_addr: ndarray,
    signal: int,
    sig_op: int,
    pe: int,
    nelems: int | None = None,
    index: Index = 0,
) -> None:
    """Put ``source`` to ``dest`` on a PE, then update a signal there.

    ``SIGNAL_SET`` sets the signal to ``signal``, ``SIGNAL_ADD`` adds ``signal``; the update is delivered after the
    data. Without elements to put, only the signal is updated. Not collective. Blocking until local completion:
    ``source`` may then be reused.

    Args:
        dest: Symmetric array, of any dtype of dpnp.
        source: A dpnp or numpy array with the dtype and number of elements of ``dest``, or a scalar for one element.
        sig_addr: Symmetric contiguous array of int32, int64, uint32 or uint64; each element is a signal.
        signal: Value to set or add, which the dtype of ``sig_addr`` can hold.
        sig_op: ``SIGNAL_SET`` or ``SIGNAL_ADD``.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        nelems: Number of elements to move, from the start of both arrays; by default all of them.
        index: The signal: a tuple of indices, or its number in C order (in Fortran order, if the array is in that).

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``dest`` or ``sig_addr`` is not on the symmetric heap.
        IndexError: There is no such PE or signal.
        TypeError: As for ``put``, or ``sig_addr`` is of no dtype of signals, or ``signal`` is not an integer.
        ValueError: As for ``put``; an unknown ``sig_op``, a ``signal`` that the dtype cannot hold, or ``sig_addr`` is
            not contiguous.
        PeerLost: As for ``put``.

    Example:
        >>> box, flag = ishmem.zeros(4), ishmem.zeros(1, dtype="u8")
        >>> ishmem.put_signal(box, np.ones(4), flag, 1, ishmem.SIGNAL_SET, right)
        >>> ishmem.signal_wait_until(flag, ishmem.CMP_EQ, 1)  # the left neighbour's data are in box
        1

    Source: OpenSHMEM 1.5, 9.8.3 (shmem_put_signal); ishmem_put_signal.
    """
    _put_signal(_core.put_signal, dest, source, Signal(sig_addr, signal, sig_op, index), pe, nelems)


@fast_path(_core.put_signal_nbi)
@arguments_of(put_signal)
def put_signal_nbi(
    dest: ndarray,
    source: Any,
    sig_addr: ndarray,
    signal: int,
    sig_op: int,
    pe: int,
    nelems: int | None = None,
    index: Index = 0,
) -> None:
    """Start ``put_signal`` without waiting for local completion.

    ``source`` may be reused after the next ``quiet`` or ``flush``. Arguments and errors as for ``put_signal``.
    Not collective, not blocking.

    Example:
        >>> box, flag = ishmem.zeros(4), ishmem.zeros(1, dtype="u8")
        >>> ishmem.put_signal_nbi(box, np.ones(4), flag, 1, ishmem.SIGNAL_ADD, right)
        >>> ishmem.quiet()

    Source: OpenSHMEM 1.5, 9.8.4 (shmem_put_signal_nbi); ishmem_put_signal_nbi.
    """
    _put_signal(_core.put_signal_nbi, dest, source, Signal(sig_addr, signal, sig_op, index), pe, nelems)


@fast_path(_core.signal_fetch)
@arguments_of(put_signal)
def signal_fetch(sig_addr: ndarray, index: Index = 0) -> int:
    """Return the value of this PE's signal in element ``index`` of ``sig_addr``, read atomically.

    If it is the value that a put has stored, the data of that put are visible afterwards. Not collective, not blocking.
    Errors as for ``signal_set``.

    Example:
        >>> flag = ishmem.zeros(1, dtype="u8")
        >>> ishmem.signal_fetch(flag)
        0

    Source: OpenSHMEM 1.5, 9.8.5 (shmem_signal_fetch); ishmem_signal_fetch.
    """
    job.current()
    array, place = _place("signal_fetch", sig_addr, index)
    return int(check.run_in_core("signal_fetch", _core.signal_fetch, array, place))


@fast_path(_ADD)
@arguments_of(put_signal)
def signal_add(sig_addr: ndarray, signal: int, pe: int, index: Index = 0) -> None:
    """Add ``signal`` to a signal on a PE, atomically; it wraps around at the ends of the dtype.

    Not collective; ``quiet`` waits for remote completion. Errors as for ``signal_set``.

    Example:
        >>> flag = ishmem.zeros(1, dtype="u8")
        >>> ishmem.signal_add(flag, 2, right)
        >>> ishmem.signal_wait_until(flag, ishmem.CMP_GE, 2)
        2

    Source: OpenSHMEM 1.6 (shmem_signal_add); ishmemx_signal_add.
    """
    _update("signal_add", _ADD, sig_addr, signal, pe, index)


@fast_path(_SET)
@arguments_of(put_signal)
def signal_set(sig_addr: ndarray, signal: int, pe: int, index: Index = 0) -> None:
    """Set a signal on a PE to ``signal``, atomically.

    Not collective; ``quiet`` waits for remote completion.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``sig_addr`` is not on the symmetric heap.
        IndexError: There is no such PE or signal.
        TypeError: ``sig_addr`` is of no dtype of signals, or ``signal`` is not an integer.
        ValueError: ``signal`` does not fit the dtype, or ``sig_addr`` is not contiguous.
        PeerLost: As for ``put``.

    Example:
        >>> flag = ishmem.zeros(1, dtype="u8")
        >>> ishmem.signal_set(flag, 7, right)
        >>> ishmem.signal_wait_until(flag, ishmem.CMP_NE, 0)
        7

    Source: OpenSHMEM 1.6 (shmem_signal_set); ishmemx_signal_set.
    """
    _update("signal_set", _SET, sig_addr, signal, pe, index)


@fast_path(_core.signal_wait_until)
@arguments_of(put_signal, **{name: arguments(wait.wait_until)[name] for name in ("cmp", "cmp_value", "timeout")})
def signal_wait_until(
    sig_addr: ndarray, cmp: int, cmp_value: int, index: Index = 0, timeout: float | None = None
) -> int:
    """Wait until this PE's signal satisfies the comparison with ``cmp_value``; return its value.

    Not collective, blocking. Errors as for ``wait_until``, and ``TypeError`` for an array of no dtype of signals.

    Example:
        >>> flag = ishmem.zeros(1, dtype="u8")
        >>> ishmem.signal_add(flag, 1, right)
        >>> ishmem.signal_wait_until(flag, ishmem.CMP_GT, 0, timeout=60)
        1

    Source: OpenSHMEM 1.5, 9.10.15 (shmem_signal_wait_until); ishmem_signal_wait_until.
    """
    limit = check.seconds(timeout)
    return int(wait.check_and_run(signal_wait_until, "sig_addr", sig_addr, SIGNAL_TYPES, cmp, cmp_value, index, limit))


globals().update(work_group_forms(__name__))


def _put_signal(put: Callable[..., Any], dest: Any, source: Any, signal: Signal, pe: Any, nelems: Any) -> None:
    """Run a put with signal after the core declined it: raise the error, or pass the core arguments that it accepts."""
    check_signal("put_signal", signal, pe)
    known = rma.plan("put", dest, source, pe, nelems, True)
    flag, place, value = _known("put_signal", signal.sig_addr, signal.signal, signal.index)
    data = known.dest.array, known.source.array
    check.run_in_core("put_signal", put, *data, flag, value, int(signal.sig_op), known.pe, nelems, place)


def check_signal(routine: str, signal: Signal, pe: Any) -> None:
    """Raise the error of ``put_signal`` as that of ``routine`` if the signal of a put or its ``pe`` is invalid."""
    job.current()
    sig_addr, value, sig_op, index = signal
    if sig_op in _ALLOWED and _core.host_signals(sig_addr, value, sig_op, pe, index):
        return
    if sig_op not in _ALLOWED:
        raise ValueError(error_texts.no_member("sig_op", SignalOp, sig_op))
    check.pe(pe)
    _known(routine, sig_addr, value, index)


def _known(routine: str, sig_addr: Any, signal: Any, index: Any) -> tuple[Any, int, int]:
    """Check a signal and its value; return the array, the number of the element, and the value as a Python integer."""
    return *_place(routine, sig_addr, index), check.as_element(sig_addr, signal)[0].item()


def _place(routine: str, sig_addr: Any, index: Any) -> tuple[Any, int]:
    """Check a signal; return the array and the number of the element in C order."""
    array = check.view(sig_addr, "sig_addr", SIGNAL_TYPES, routine)
    check.element(array, index)
    return array.array, check.position(array, index)


def _update(routine: str, update: Callable[..., Any], sig_addr: Any, signal: Any, pe: Any, index: Any) -> None:
    """Update a signal after the core declined the call: raise the error, or pass the core arguments that it accepts."""
    number, (array, place, value) = check.pe(pe), _known(routine, sig_addr, signal, index)
    check.run_in_core(routine, update, array, value, number, place)
