"""What lies in the internal part of each PE's heap, before the part that users allocate from.

The host side and the device side both reach it by the offsets given here:

========  ==========================================  ===========================
table     int64 per PE: that PE's heap minus mine     read by every device access
host      a line per barrier round                    written by peers' hosts
device    a line per barrier round                    written by peers' kernels
sequence  int64: device barriers begun on this PE     used by this PE's kernels
agree     two records per PE                          written by peers' hosts
========  ==========================================  ===========================
"""

from __future__ import annotations

from dataclasses import dataclass

LINE = 64
ROUNDS = 16  # of the dissemination barrier: enough for 65536 PEs
RECORD = 256
PAGE = 4096


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes from the heap's base, for a job of ``n_pes`` PEs."""

    n_pes: int

    table = 0

    @property
    def host_sync(self) -> int:
        """First line of the host barrier."""
        return _round_up(8 * self.n_pes, LINE)

    @property
    def device_sync(self) -> int:
        """First line of the barrier inside kernels."""
        return self.host_sync + ROUNDS * LINE

    @property
    def device_sequence(self) -> int:
        """Number of barriers that this PE's kernels have begun."""
        return self.device_sync + ROUNDS * LINE

    def agree(self, sequence: int, pe: int) -> int:
        """Record of ``pe`` for the collective call number ``sequence``.

        There are two sets, used in turn: a PE can be at most one collective call ahead of another.
        """
        first = self.device_sequence + LINE
        return first + RECORD * (self.n_pes * (sequence % 2) + pe)

    @property
    def size(self) -> int:
        """Bytes of the internal part, in whole pages."""
        return _round_up(self.agree(1, self.n_pes), PAGE)


def _round_up(value: int, unit: int) -> int:
    return (value + unit - 1) // unit * unit
