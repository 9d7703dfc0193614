"""What the collective routines of the host do: check the arguments, agree with the team, move the data.

A data movement is a list of pulls: where in ``dest``, from which member, from where in its ``source``, how many
bytes. So nothing is written into a PE that has not called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from . import check, job, teams
from .table import REDUCTIONS, RMA_TYPES

Lists = tuple[Any, ...]


class Pull(NamedTuple):
    """A copy from a member's ``source`` into this PE's ``dest``, in bytes."""

    to: int
    member: int
    origin: int
    nbytes: int


@dataclass(frozen=True)
class Call:
    """A call whose arguments are right on this PE.

    Attributes:
        count: Elements of a block.
        lists: Counts and places in elements of the routines that take them.
    """

    routine: str
    team: teams.Team
    dest: check.View
    source: check.View
    count: int
    root: int = -1
    steps: tuple[int, int] = (1, 1)
    lists: tuple[list[int], ...] = ()

    def __str__(self) -> str:
        """Give what must be the same on all PEs."""
        facts = [f"of {self.count} elements"] if self.routine not in ("collect", "alltoallv") else []
        facts += [f"of dtype {self.dest.dtype}"]
        facts += [f"from or to root {self.root}"] if self.root >= 0 else []
        facts += [f"with dst={self.steps[0]}, sst={self.steps[1]}"] if self.routine == "alltoalls" else []
        facts += [f"with counts {self.lists[0]} at {self.lists[1]}"] if self.routine in ("gatherv", "scatterv") else []
        return ", ".join(facts)


def run(
    routine: str,
    dest: Any,
    source: Any,
    team: teams.Team | int,
    nelems: Any = None,
    root: Any = None,
    dst: Any = 1,
    sst: Any = 1,
    lists: Lists = (),
) -> None:
    """Do a collective call."""
    this, group = job.current(), teams.find(team)
    shape = group.shape

    def make() -> Call:
        return _checked(routine, group, dest, source, nelems, root, dst, sst, lists)

    note = ""
    try:
        made = make()
        note = " ".join(map(str, (made.count, *(made.lists[1] + made.lists[3] if len(made.lists) == 4 else ()))))
    except Exception:  # raised again, on every PE
        pass
    call, notes = this.together(routine, make, str, group.handle, note)
    if routine in REDUCTIONS:
        _reduce(call, list(shape))
    else:
        _move(call, list(shape), [[int(number) for number in text.split()] for text in notes])


def _checked(
    routine: str, team: teams.Team, dest: Any, source: Any, nelems: Any, root: Any, dst: Any, sst: Any, lists: Lists
) -> Call:
    size = team.n_pes()
    types = REDUCTIONS.get(routine, RMA_TYPES)
    to, origin = check.view(dest, "dest", types, routine), check.view(source, "source", types, routine)
    check.same_dtype(to, origin)
    check.contiguous(to, origin)
    check.writable(to)
    for array in (to, origin):
        check.remote(array, job.current().pe)
    number = -1
    if root is not None:
        number = check.integer(root, "root")
        team.world_pe(number, "root")
    if lists:
        return Call(
            routine, team, to, origin, 0, number, (1, 1), _lists(routine, to, origin, team.my_pe(), size, lists)
        )
    steps = _step(dst, "dst"), _step(sst, "sst")
    count = _count(routine, size, to, origin, nelems, steps)
    return Call(routine, team, to, origin, count, number, steps)


def _step(value: Any, name: str) -> int:
    step = check.integer(value, name)
    if step < 1:
        raise ValueError(f"{name} is {step}; strides are at least 1")
    return step


BLOCKS = {
    "fcollect": ("n", 1), "collect": (1, 1), "alltoall": ("n", "n"), "alltoalls": ("n", "n"), "gather": ("n", 1),
    "scatter": (1, "n"),
}  # fmt: skip
"""How many blocks ``dest`` and ``source`` have, where not one each; ``n`` is one for each PE."""


def _count(routine: str, size: int, to: check.View, origin: check.View, nelems: Any, steps: tuple[int, int]) -> int:
    to_blocks, origin_blocks = (size if blocks == "n" else 1 for blocks in BLOCKS.get(routine, (1, 1)))
    if nelems is None:
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
        blocks * count * step - (step - 1 if count else 0) for blocks, step in zip((to_blocks, origin_blocks), steps)
    ]
    if routine == "collect":
        need[0] = 0
    if count < 0 or to.count < need[0] or origin.count < need[1]:
        raise ValueError(
            f"{routine}: nelems is {count}; for {size} PEs dest needs {need[0]} elements and has {to.count}, source "
            f"needs {need[1]} and has {origin.count}"
        )
    return count


def _lists(routine: str, to: check.View, origin: check.View, me: int, size: int, lists: Lists) -> tuple[list[int], ...]:
    if routine != "alltoallv":
        counts = _numbers(lists[0], "counts", size)
        places = _places(counts, lists[1], "displs", size)
        whole, part = (to, origin) if routine == "gatherv" else (origin, to)
        _reach(whole, counts, places)
        _reach(part, [counts[me]], [0])
        return counts, places
    dest_counts, source_counts = _numbers(lists[0], "dest_counts", size), _numbers(lists[1], "source_counts", size)
    dest_places = _places(dest_counts, lists[2], "dest_displs", size)
    source_places = _places(source_counts, lists[3], "source_displs", size)
    _reach(to, dest_counts, dest_places)
    _reach(origin, source_counts, source_places)
    return dest_counts, source_counts, dest_places, source_places


def _numbers(values: Any, name: str, size: int) -> list[int]:
    if not isinstance(values, (Sequence, np.ndarray)) or isinstance(values, str):
        raise TypeError(f"{name} is a sequence of {size} integers, got {type(values).__name__}")
    numbers = [check.integer(value, name) for value in values]
    if len(numbers) != size:
        raise ValueError(f"{name} has {len(numbers)} numbers; the team has {size} PEs")
    if min(numbers) < 0:
        raise ValueError(f"{name} is {numbers}; the numbers are at least 0")
    return numbers


def _places(counts: list[int], displs: Any, name: str, size: int) -> list[int]:
    if displs is None:
        return [0, *accumulate(counts)][:-1]
    return _numbers(displs, name, size)


def _reach(array: check.View, counts: list[int], places: list[int]) -> None:
    need = max(place + count if count else 0 for place, count in zip(places, counts))
    if need > array.count:
        raise ValueError(f"{array.name} has {array.count} elements; counts {counts} at {places} reach {need}")


def _pulls(call: Call, me: int, size: int, notes: list[list[int]]) -> Iterator[Pull]:
    """Give what this PE reads; ``notes`` holds of each member its count, then the places of its source blocks."""
    nbytes, item, root = call.count * call.dest.itemsize, call.dest.itemsize, call.root
    if call.routine == "broadcast":
        yield Pull(0, root, 0, nbytes)
    elif call.routine == "fcollect" or (call.routine == "gather" and me == root):
        yield from (Pull(j * nbytes, j, 0, nbytes) for j in range(size))
    elif call.routine == "collect":
        counts = [note[0] for note in notes]
        places = [0, *accumulate(counts)]
        if places[-1] > call.dest.count:
            raise ValueError(f"collect: dest has {call.dest.count} elements; the PEs contribute {places[-1]}")
        yield from (Pull(places[j] * item, j, 0, counts[j] * item) for j in range(size))
    elif call.routine == "alltoall":
        yield from (Pull(j * nbytes, j, me * nbytes, nbytes) for j in range(size))
    elif call.routine == "scatter":
        yield Pull(0, root, me * nbytes, nbytes)
    elif call.routine == "alltoalls":
        dst, sst = (step * item for step in call.steps)
        for j in range(size):
            for i in range(call.count):
                yield Pull((j * call.count + i) * dst, j, (me * call.count + i) * sst, item)
    elif call.routine == "gatherv" and me == root:
        yield from (Pull(place * item, j, 0, n * item) for j, (n, place) in enumerate(zip(*call.lists)))
    elif call.routine == "scatterv":
        yield Pull(0, root, call.lists[1][me] * item, call.lists[0][me] * item)
    elif call.routine == "alltoallv":
        for j in range(size):
            yield Pull(call.lists[2][j] * item, j, notes[j][1 + size + me] * item, call.lists[0][j] * item)


def _move(call: Call, members: list[int], notes: list[list[int]]) -> None:
    this = job.current()
    me = members.index(this.pe)
    try:
        for to, member, origin, nbytes in _pulls(call, me, len(members), notes):
            source = check.remote(call.source, members[member]) + origin
            if nbytes and source != call.dest.address + to:
                this.engine.copy(call.dest.address + to, source, nbytes, None)
    finally:
        this.engine.quiet()
        this.barrier(call.routine, call.team.handle)


def _reduce(call: Call, members: list[int]) -> None:
    this, me = job.current(), members.index(job.current().pe)
    taken = {"sum_inscan": members[: me + 1], "sum_exscan": members[:me]}.get(call.routine, members)
    values = np.empty((len(taken), call.count), call.dest.dtype)
    nbytes = call.count * call.dest.itemsize
    for row, member in zip(values, taken):
        this.engine.copy(row.ctypes.data, check.remote(call.source, member), nbytes, values)
    this.engine.quiet()
    this.barrier(call.routine, call.team.handle)
    operation = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "max": "maximum", "min": "minimum"}
    word = call.routine.split("_")[0]
    combine = getattr(np, operation.get(word, {"sum": "add", "prod": "multiply"}.get(word, "")))
    total = np.zeros(call.count, values.dtype) if not len(taken) else values[0]
    for row in values[1:]:
        total = combine(total, row)
    this.engine.copy(call.dest.address, total.ctypes.data, nbytes, total)
    this.engine.quiet()
