"""Checks of the arguments of collective calls that ``ishmem/core/bind_collectives.cpp`` declines.

A PE with wrong arguments takes part in the call with a refusal, the text of its error, so that the other PEs raise too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NoReturn

import numpy as np

from ishmem import _core
from ishmem.common import error_texts
from ishmem.common.collective_table import COLLECTIVES, Collective, InPlace
from ishmem.common.errors import IshmemError, SymmetryError
from ishmem.common.layout import FEW_MEMBERS
from ishmem.common.shared_numbers import Verdict
from ishmem.common.team_shape import Shape
from ishmem.host_collectives.collective_call import ROUTINES, Asked, CheckedCall, Given, Members, asked
from ishmem.runtime import agreement, check, job


def raise_failed(verdict: int, number: int, team: int) -> NoReturn:
    """Raise the error of a call that has failed on all PEs.

    Args:
        verdict: A `Verdict`: reason of the failure, from the core.
        number: Number of the routine in `ROUTINES`.
        team: The handle of the team.
    """
    routine, this = list(COLLECTIVES)[number], job.current()
    shape = this.teams[team]
    if verdict == Verdict.PEER_GONE:
        this.raise_lost(routine, shape)
    requests = asked(team)
    if verdict == Verdict.DISSENT:
        raise SymmetryError(dissent(routine, shape, requests))
    total = sum(request.extra for request in requests)
    raise ValueError(f"collect: the PEs contribute {total} elements, and dest of one of them has fewer")


def dissent(routine: str, shape: Shape, requests: list[Asked]) -> str:
    """Return the error message for members, the PEs of ``shape``, whose arguments ``requests`` do not match."""
    calls = {pe: str(request) for pe, request in zip(shape, requests)}
    algorithms = {pe: request.algorithm for pe, request in zip(shape, requests)}
    if len(set(calls.values())) > 1:
        return agreement.describe_dissent(routine, calls)
    if len(set(algorithms.values())) > 1:
        return f"{routine}: the PEs use different algorithms; ISHMEM_ALGORITHM is the same on all PEs"
    size = len(requests)
    table = [np.frombuffer(request.numbers, "u8")[: 2 * size].reshape(2, size) for request in requests]
    for i, j in np.ndindex(size, size):
        sent, expected = table[i][0, j], table[j][1, i]
        if sent != expected:
            unlike = error_texts.unlike_counts(shape.pe(i), sent, shape.pe(j), expected)
            return f"{routine}: the PEs disagree; {unlike}"
    return f"{routine}: the PEs disagree"


def refuse(routine: str, dest: Any, source: Any, team: Members, given: Given) -> NoReturn:
    """Raise the error of this PE's arguments, which the core declined; make the others raise if it is in the team."""
    _check_first(routine, dest, source, team, given)
    error = ValueError(f"{routine}: these arguments are not supported: {dest!r}, {source!r}")
    tell_refusal(routine, team, error)
    raise error


def _check_first(routine: str, dest: Any, source: Any, team: Members, given: Given) -> CheckedCall:
    """Return the checked arguments of a call; if they are invalid, make the other members raise, too."""
    team.shape  # noqa: B018 - raises where this PE is not a member: no PE waits for it
    try:
        return checked(routine, team, dest, source, given)
    except Exception as error:
        tell_refusal(routine, team, error)
        raise


def tell_refusal(routine: str, team: Members, error: Exception) -> None:
    """Take part in a call with ``error`` as refusal: the other members raise ``SymmetryError`` with its text."""
    text = f"refused: {type(error).__name__}: {error}".encode(errors="backslashreplace")
    _core.refuse_collective(ROUTINES[routine], team, text)


def with_counts(routine: str, dest: Any, source: Any, team: Members, lists: tuple[Any, ...], root: Any = None) -> None:
    """Check the arguments of ``alltoallv``, ``gatherv`` or ``scatterv`` and run it; wrong ones raise on all members.

    ``lists`` has its counts and displacements in the order of its parameters; ``root`` is None for ``alltoallv``.
    """
    given = Given(root=root, lists=lists)
    call = _check_first(routine, dest, source, team, given)
    if _core.collective_with_counts(ROUTINES[routine], dest, source, root, team, call.lists) is NotImplemented:
        refuse(routine, dest, source, team, given)


def arrays_of(routine: str, dest: Any, source: Any, dtype: Any) -> tuple[check.View, check.View]:
    """Return views of the arrays of a call, after checking their dtypes and that ``dest`` is writable.

    ``dtype`` is that of the program's call: "bfloat16" or None. Raises ``TypeError`` or ``ValueError``.
    """
    types = COLLECTIVES[routine].types if dtype is None else check.stored_types(dtype, ("bfloat16",))
    to, origin = (check.view(array, name, types, routine) for array, name in ((dest, "dest"), (source, "source")))
    check.same_dtype(to, origin)
    check.writable(to)
    return to, origin


def checked(routine: str, team: Members, dest: Any, source: Any, given: Given) -> CheckedCall:
    """Check the arguments of a call on contiguous arrays; return them in the form for the core.

    Raises:
        SymmetryError, TypeError, ValueError, IndexError: As documented at the routines.
    """
    size, traits = team.shape.size, COLLECTIVES[routine]
    to, origin = arrays_of(routine, dest, source, given.dtype)
    check.contiguous(to, origin)
    for array in (to, origin):
        check.remote(array, job.current().pe)
    if traits.has_root:
        team.world_pe(check.integer(given.root, "root"), "root")
    if routine == "alltoallv":
        _check_size(size)
    if given.lists:
        found = _lists(routine, to, origin, team.my_pe(), size, given.lists)
        _check_apart(routine, to, origin, to.count, origin.count, None)
        return CheckedCall(0, lists=found)
    steps = _step(given.dst, "dst"), _step(given.sst, "sst")
    count = _count(routine, size, to, origin, given.nelems, steps)
    to_blocks, origin_blocks = traits.blocks(size)
    whole = to.count if routine in ("collect", "alltoalls") else to_blocks * count
    in_place = _in_place(traits, team.my_pe() * count * to.itemsize)
    _check_apart(routine, to, origin, whole, min(origin_blocks * count * steps[1], origin.count), in_place)
    return CheckedCall(count, steps)


def _in_place(traits: Collective, own: int) -> int | None:
    """Return the bytes from ``dest`` to ``source`` of a call in place, ``own`` to this PE's block; None if barred."""
    if traits.in_place is InPlace.OWN_BLOCK:
        return -own if traits.source_blocks else own
    return 0 if traits.in_place is InPlace.SAME else None


def _check_apart(
    routine: str, to: check.View, origin: check.View, to_count: int, origin_count: int, in_place: int | None
) -> None:
    first, second = to.address, origin.address
    overlap = first < second + origin_count * to.itemsize and second < first + to_count * to.itemsize
    if not overlap or not to_count or not origin_count or second - first == in_place:
        return
    exception = {0: "; they may be the same array", None: ""}.get(in_place, "; this PE's own block may be in place")
    raise ValueError(f"{routine}: dest and source overlap{exception}")


def _step(value: Any, name: str) -> int:
    step = check.integer(value, name)
    if not 1 <= step < 2**31:
        raise ValueError(f"{name} is {step}; strides are at least 1")
    return step


def _count(routine: str, size: int, to: check.View, origin: check.View, nelems: Any, steps: tuple[int, int]) -> int:
    to_blocks, origin_blocks = COLLECTIVES[routine].blocks(size)
    if nelems is None and routine != "alltoalls":
        count = to.count if routine == "scatter" else origin.count // origin_blocks
        exact = origin.count == count * origin_blocks and (to.count == count * to_blocks or routine == "collect")
        if not exact:
            raise ValueError(
                f"{routine}: dest has {to.count} elements and source has {origin.count}; for {size} PEs they have "
                f"{to_blocks} and {origin_blocks} blocks of one size; pass such slices, or nelems="
            )
        return count
    count = check.integer(nelems, "nelems")
    need = [
        number * count * step - (step - 1 if count else 0) for number, step in zip((to_blocks, origin_blocks), steps)
    ]
    if routine == "collect":
        need[0] = 0
    if count < 0 or to.count < need[0] or origin.count < need[1]:
        raise ValueError(
            f"{routine}: nelems is {count}; for {size} PEs dest needs {need[0]} elements and has {to.count}, source "
            f"needs {need[1]} and has {origin.count}"
        )
    return count


def _check_size(size: int) -> None:
    layout = job.current().heap.layout
    if layout.is_large and size > FEW_MEMBERS:
        raise IshmemError(
            f"alltoallv: the team has {size} PEs; a job of {layout.n_pes} PEs on several nodes allows {FEW_MEMBERS}; "
            "use alltoall, or puts to each PE"
        )


def _lists(
    routine: str, to: check.View, origin: check.View, me: int, size: int, lists: tuple[Any, ...]
) -> tuple[list[int], ...]:
    if routine != "alltoallv":
        counts = _numbers(lists[0], "counts", size)
        displs = _displacements(counts, lists[1], "displs", size)
        whole, part = (to, origin) if routine == "gatherv" else (origin, to)
        _reach(whole, counts, displs)
        _reach(part, [counts[me]], [0])
        apart = (counts, displs), (counts, [0] * size)
        (dest_counts, dest_displs), (source_counts, source_displs) = apart if routine == "gatherv" else apart[::-1]
        return dest_counts, dest_displs, source_counts, source_displs
    dest_counts, source_counts = _numbers(lists[0], "dest_counts", size), _numbers(lists[1], "source_counts", size)
    dest_displs = _displacements(dest_counts, lists[2], "dest_displs", size)
    source_displs = _displacements(source_counts, lists[3], "source_displs", size)
    _reach(to, dest_counts, dest_displs)
    _reach(origin, source_counts, source_displs)
    return dest_counts, dest_displs, source_counts, source_displs


def _numbers(values: Any, name: str, size: int) -> list[int]:
    if not isinstance(values, (Sequence, np.ndarray)) or isinstance(values, str):
        raise TypeError(f"{name} is a sequence of {size} integers, got {type(values).__name__}")
    numbers = [check.integer(value, name) for value in values]
    if len(numbers) != size:
        raise ValueError(error_texts.wrong_length(name, len(numbers), size))
    if max(numbers) >= 2**63:
        raise ValueError(f"{name} has {max(numbers)}; allowed are numbers below 2**63")
    if min(numbers) < 0:
        raise ValueError(error_texts.negative(name, numbers))
    return numbers


def _displacements(counts: list[int], displs: Any, name: str, size: int) -> list[int]:
    if displs is None:
        return [0, *accumulate(counts)][:-1]
    return _numbers(displs, name, size)


def _reach(array: check.View, counts: list[int], displs: list[int]) -> None:
    need = max(displ + count if count else 0 for displ, count in zip(displs, counts))
    if need > array.count:
        raise ValueError(
            f"{array.name} has {array.count} elements; counts {counts} at displacements {displs} need {need}"
        )
