"""Agreement of the PEs of a team on the arguments of a collective call."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Callable, NamedTuple, TypeVar

from ishmem import _core
from ishmem.common.errors import SymmetryError
from ishmem.common.layout import RECORD

if TYPE_CHECKING:
    from ishmem.runtime.job import Job

T = TypeVar("T")
_FREE = struct.Struct("<Q")  # the mask at the start of a record


class Agreed(NamedTuple):
    """The result of `agree`.

    Attributes:
        free: The bits that are set in the masks of all PEs.
        highest: An upper bound of the barrier numbers of all former teams of these PEs.
    """

    free: int = 0
    highest: int = 0


def agree(this: Job, routine: str, request: str, team: int = 0, free: int = 0) -> Agreed:
    """Check that all PEs of a team call ``routine`` with the same text ``request``; collective, a barrier.

    ``team`` is a handle, by default of all PEs. ``free`` is a mask of 64 bits, which may differ between the PEs. The
    barrier combines digests of the requests; a PE reads the requests of the others only if the digests differ.

    Raises:
        SymmetryError: The requests differ; on every PE.
        PeerLost: A PE is gone.
    """
    this.agreements[team] += 1
    text = "\0".join([str(this.agreements[team]), routine, request]).encode(errors="replace")
    record = _FREE.pack(free) + text[: RECORD - _FREE.size].ljust(RECORD - _FREE.size, b"\0")
    _core.write(this.pe, this.heap.layout.agree(team, this.agreements[team]), record)
    digest = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") | 1
    outcome, agreed, common, highest = _core.agree(team, digest, free, this.highest_sequence)
    if outcome != _core.SATISFIED:
        this.raise_incomplete(routine, outcome, team)
    if not agreed:
        raise SymmetryError(describe_dissent(routine, {pe: _words(part) for pe, part in _agreed(this, team)}))
    return Agreed(common, highest)


def free_of_each(this: Job, team: int) -> dict[int, int]:
    """Return the masks ``free`` that members of the team with handle ``team`` passed to their last `agree`, by PE."""
    return {pe: int(_FREE.unpack_from(record)[0]) for pe, record in _agreed(this, team)}


def _agreed(this: Job, team: int) -> Iterable[tuple[int, bytes]]:
    """Return the PE number of each member of a team and its record of the last `agree`."""
    members = list(this.teams[team])
    return zip(members, _core.read_all(members, this.heap.layout.agree(team, this.agreements[team]), RECORD))


def check_and_agree(
    this: Job,
    routine: str,
    make: Callable[[], T],
    words: Callable[[T], str],
    team: int | None = None,
    free: int = 0,
) -> tuple[T, Agreed]:
    """Check arguments on this PE, then compare them across a team; an error on one PE raises on all; a barrier.

    ``make`` checks and returns the arguments, ``words`` returns their text for `agree`, and ``free`` is the mask for
    `agree`. The team is by default that of `Job.everyone`. An error of ``make`` is raised here, and `SymmetryError`
    on the other PEs.

    Returns:
        The result of ``make`` and that of `agree`.
    """
    agreed = Agreed()
    try:
        with this.heap.naming_loss():
            request = make()
        text, problem = words(request), None
    except Exception as error:
        text, problem = f"refused: {type(error).__name__}: {error}", error
    try:
        agreed = agree(this, routine, text, this.everyone if team is None else team, free)
    except SymmetryError:
        if problem is None:
            raise
    if problem is not None:
        raise problem
    return request, agreed


def describe_dissent(routine: str, requests: dict[int, str]) -> str:
    """Return the error message for requests to ``routine`` that differ; ``requests`` has the text of each PE."""
    common = Counter(requests.values()).most_common()
    split = len(common) > 1 and common[0][1] == common[1][1]
    odd = [pe for pe, request in requests.items() if split or request != common[0][0]]
    parts = [f"PE {pe}: {requests[pe]}" for pe in odd]
    if not split:
        parts.append(f"the other {common[0][1]}: {common[0][0]}")
    return f"{routine}: the PEs disagree; " + "; ".join(parts)


def _words(record: bytes) -> str:
    fields = record[_FREE.size :].rstrip(b"\0").split(b"\0")
    if len(fields) != 3:
        return "no matching call"
    sequence, routine, request = (field.decode(errors="replace") for field in fields)
    return f"{routine} {request} (collective call {sequence})"
