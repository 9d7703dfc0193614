"""The record in a PE's heap in which a work-item that has waited long describes its wait.

The module needs only the standard library: ishmem run reads the record, too.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ishmem.common import packed_text
from ishmem.common.constants import SYMBOLS, Cmp
from ishmem.common.error_texts import no_member

VARIABLE, NONE_OF, LOCK, MEMBER, PROXY = range(1, 6)
NOTICE = 30.0
"""Seconds after which a wait is reported: the default of ``ISHMEM_WAIT_NOTICE``."""

WORDS = 10
"""Words of a call's text, 8 characters each."""


class KernelWait(NamedTuple):
    """A wait of one work-item of this PE's kernels, one int64 a field; `WORDS` words each of three calls follow.

    Attributes:
        item: 1 if a work-item has waited for long, else 0.
        kind: ``VARIABLE``, ``NONE_OF`` (any of several variables), ``LOCK``, ``MEMBER`` (of a team, in a barrier or
            another collective call) or ``PROXY`` (requests to it).
        seen: By kind: the value of the variable; the number of variables; the place in this PE's heap that the member
            writes; the number of requests that the proxy has served.
        wanted: By kind: the value to compare with; the number of the team's call; the number of requests to be served.
        cmp: The comparison, a `Cmp`.
        element: The index of the variable or of the lock.
        pe: The PE that is to write, or that holds the lock; -1 if it is unknown.
        unsigned: Whether ``seen`` and ``wanted`` are unsigned.
    """

    item: int = 0
    kind: int = 0
    seen: int = 0
    wanted: int = 0
    cmp: int = 0
    element: int = 0
    pe: int = 0
    unsigned: int = 0

    @property
    def is_for_member(self) -> bool:
        """Whether a work-item waits for a member of a team."""
        return bool(self.item) and self.kind == MEMBER

    @classmethod
    def at(cls, field: str) -> int:
        """Return the offset of a field in bytes."""
        return 8 * cls._fields.index(field)


SITE = 8 * len(KernelWait._fields)
"""Offset of the text of the work-item's call, zeros if it is unknown; see `site_text`."""

CALL = SITE + 8 * WORDS
"""Offset of the text of the collective call that this PE's kernels have begun last."""

GROUP_CALL = CALL + 8 * WORDS
"""Offset of the text of the call of a work-group or sub-group that this PE's kernels have begun last, with
``ISHMEM_CHECK``."""

NBYTES = GROUP_CALL + 8 * WORDS

LOST = NBYTES
"""Offset of the word after the record, written by the host: how many of the `POLLS` polls before its record a wait
skips; 0, or all but one once a PE is reported lost."""

POLLS = 1 << 16
"""Number of polls after which a wait in a kernel is recorded."""


def site_text(kernel: str, place: str, routine: str, variable: str) -> str:
    """Return the text of a call: kernel, ``place`` (file and line), routine, and the name of its first argument."""
    return "|".join((kernel, place, routine, variable))


def numbers_of(data: bytes) -> KernelWait:
    """Return the `KernelWait` that ``data``, bytes of the heap, begins with."""
    return KernelWait(*struct.unpack_from(f"<{SITE // 8}q", data))


MANY = 1 << 16
"""A number above the number of PEs of any job."""


def describe(data: bytes, n_pes: int = MANY) -> str:
    """Return a description of the wait in a record, in a job of ``n_pes`` PEs; empty if no work-item waits long."""
    numbers = struct.unpack_from(f"<{NBYTES // 8}q", data)
    wait = numbers_of(data)
    if not wait.item:
        return ""
    site, call = (packed_text.unpack(numbers[at // 8 :][:WORDS]) for at in (SITE, CALL))
    kernel, place, routine, variable = ["", "", "", "", *(site or call).split("|")][-4:]
    where = f"kernel {kernel}, {place}: {routine}: " if place else "a kernel: "
    return where + _words(wait, variable or "the variable", n_pes)


def describe_group_call(data: bytes) -> str:
    """Return a description of the last call of a group that kernels have begun; empty if there is none."""
    return _call_at(data, GROUP_CALL)


def describe_call(data: bytes) -> str:
    """Return a description of the collective call of a work-item that waits for a member."""
    return _call_at(data, SITE) or _call_at(data, CALL) or "a collective call in a kernel"


def _call_at(data: bytes, offset: int) -> str:
    words = struct.unpack_from(f"<{WORDS}q", data, offset)
    kernel, place, routine, _variable = ["", "", "", "", *packed_text.unpack(words).split("|")][-4:]
    return f"kernel {kernel}, {place}: {routine}" if place else ""


def _words(wait: KernelWait, variable: str, n_pes: int) -> str:
    seen, wanted = (number % (1 << 64) if wait.unsigned else number for number in (wait.seen, wait.wanted))
    if wait.kind == VARIABLE:
        known = wait.cmp in set(Cmp)
        condition = f"wanted {SYMBOLS[Cmp(wait.cmp)]} {wanted}" if known else no_member("cmp", Cmp, wait.cmp)
        return f"element {wait.element} of {variable} is {seen}, {condition}"
    if wait.kind == NONE_OF:
        return f"none of the {seen} elements of {variable} is as wanted"
    if wait.kind == LOCK:
        holder = f"PE {wait.pe} has" if wait.pe >= 0 else "another request gets"
        return f"{holder} the lock in element {wait.element} of {variable}"
    if wait.kind == MEMBER:
        handle, member = divmod(wait.pe, n_pes)  # a team without a stride has the numbers of `Layout.alias`
        who = f"member {member} of team {handle - 1}" if handle else f"PE {wait.pe}"
        return f"{who} has not begun call {wait.wanted} of the team in a kernel"
    return f"the proxy has served {wait.seen} requests, wanted > {wait.wanted}"
