"""Waiting for and testing symmetric variables of this PE that other PEs update.

The same names work on the host and in kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ishmem import _core
from ishmem.common import words
from ishmem.common.constants import SYMBOLS, Cmp
from ishmem.common.errors import IshmemError, WaitTimeout
from ishmem.common.routines import exported
from ishmem.common.type_tables import WAIT_TYPES
from ishmem.rma import g
from ishmem.runtime import check, job
from ishmem.runtime.docstrings import arguments_of
from ishmem.runtime.stubs import fast_path, work_group_forms

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index

__all__ = exported(__name__)


@fast_path(_core.wait_briefly)
def wait_until(ivar: ndarray, cmp: int, cmp_value: Any, index: Index = 0, timeout: float | None = None) -> None:
    """Wait until element ``index`` of the symmetric array ``ivar`` satisfies the comparison with ``cmp_value``.

    With ``CMP_GE``, for example, until ``ivar[index] >= cmp_value``. Not collective, blocking; yields the processor
    between polls. What the PE that updated the variable stored before the update, with a fence between, is visible
    afterwards.

    Args:
        ivar: Symmetric array of int32, int64, uint32 or uint64; this PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold.
        index: The element: its number in C order, or a tuple of indices.
        timeout: Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.

    Raises:
        WaitTimeout: The timeout has expired (also a ``TimeoutError``).
        PeerLost: A PE died, so the value may never come.
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``ivar`` is not on the symmetric heap.
        IndexError: There is no such element.
        TypeError: A dtype or value that the routine does not take.
        ValueError: ``cmp`` is none of ``CMP_EQ CMP_NE CMP_GT CMP_GE CMP_LT CMP_LE``, or the dtype cannot hold a value.

    Example:
        >>> word = ishmem.zeros(1, dtype="i8")
        >>> ishmem.atomic_set(word, 1, right)
        >>> ishmem.wait_until(word, ishmem.CMP_EQ, 1, timeout=60)

    Source: OpenSHMEM 1.5, 9.10.1 (shmem_wait_until); ishmem_wait_until.
    """
    outcome = _core.wait_until(ivar, cmp, cmp_value, index, check.seconds(timeout))
    if outcome is NotImplemented:
        explain("wait_until", "ivar", ivar, WAIT_TYPES, cmp, cmp_value, index)
    if outcome != _core.SATISFIED:
        seen = f"element {index} is {g(ivar, job.current().pe, index)}"
        give_up("wait_until", outcome, seen, cmp, cmp_value, timeout)


@fast_path(_core.test)
@arguments_of(wait_until)
def test(ivar: ndarray, cmp: int, cmp_value: Any, index: Index = 0) -> bool:
    """Return whether element ``index`` of the symmetric array ``ivar`` satisfies the comparison with ``cmp_value``.

    Errors as for ``wait_until``. Not collective, not blocking.

    Example:
        >>> word = ishmem.zeros(1, dtype="i8")
        >>> ishmem.test(word, ishmem.CMP_EQ, 1)
        False

    Source: OpenSHMEM 1.5, 9.10.8 (shmem_test); ishmem_test.
    """
    explain("test", "ivar", ivar, WAIT_TYPES, cmp, cmp_value, index)


globals().update(work_group_forms(__name__))


def give_up(routine: str, outcome: int, seen: str, cmp: int, wanted: Any, timeout: float | None) -> NoReturn:
    """Raise the error of a wait that was not satisfied."""
    this = job.current()
    if outcome == _core.LOST:
        this.raise_lost(routine)
    raise WaitTimeout(f"{routine} on PE {this.pe}: after {timeout} s {seen}, wanted {SYMBOLS[Cmp(cmp)]} {wanted}")


def check_cmp(cmp: Any) -> None:
    """Check that ``cmp`` is one of the comparisons.

    Raises:
        ValueError: ``cmp`` is none of the comparisons.
    """
    if cmp not in list(Cmp):
        raise ValueError(words.no_member("cmp", Cmp, cmp))


def explain(
    routine: str, name: str, ivar: Any, types: tuple[str, ...], cmp: Any, cmp_value: Any, index: Any
) -> NoReturn:
    """Raise the error of the arguments of a wait or test of one variable."""
    job.current()
    check.element(check.view(ivar, name, types, routine), index)
    check_cmp(cmp)
    check.as_element(ivar, cmp_value)
    raise IshmemError(f"{routine} cannot handle {name}={ivar!r}, cmp={cmp!r}, cmp_value={cmp_value!r}, index={index!r}")
