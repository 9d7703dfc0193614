"""Compares two results: which operations got slower or faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ishmem.benchmarks.plot import key_of
from ishmem.benchmarks.runner import Row
from ishmem.benchmarks.show import name_of, short_size, short_time


@dataclass(frozen=True)
class Change:
    """A point that is in both results.

    Attributes:
        old, new: Its rows.
        ratio: New time divided by old time; infinite if there is no new time.
        verdict: ``slower`` or ``faster`` if the ratio is beyond the threshold and the interquartile ranges of the
            batches do not overlap; ``broken`` if the new result has no time; else ``same``.
    """

    old: Row
    new: Row
    ratio: float
    verdict: str

    def line(self) -> str:
        """Return the change as a line of the table."""
        size = self.old.axes.get("size")
        head = f"{name_of(self.old):28} {short_size(size) if size else '':>5} {self.old.pes:>3}"
        if self.verdict == "broken":
            return f"{head} {self.new.status}: {self.new.reason.splitlines()[0] if self.new.reason else ''}"
        times = (short_time(row.seconds["median"]) for row in (self.old, self.new))
        return " ".join([head, *(f"{time:>9}" for time in times), f"{self.ratio:7.2f}", self.verdict])


HEADER = f"{'operation':28} {'size':>5} {'PEs':>3} {'old':>9} {'new':>9} {'ratio':>7}"


def compare(old: Sequence[Row], new: Sequence[Row], threshold: float = 1.1) -> list[Change]:
    """Return the changes of ishmem's points in both results, beyond ratio ``threshold``; the largest ratio first."""
    before = {key_of(row): row for row in old if row.contender == "ishmem" and row.seconds}
    after = {key_of(row): row for row in new if row.contender == "ishmem"}
    changes = [_change(before[key], after[key], threshold) for key in before if key in after]
    return sorted(changes, key=lambda change: -change.ratio)


def _change(old: Row, new: Row, threshold: float) -> Change:
    if not new.seconds:
        return Change(old, new, float("inf"), "broken")
    ratio = new.seconds["median"] / old.seconds["median"]
    slower = ratio > threshold and new.seconds["q1"] > old.seconds["q3"]
    faster = ratio < 1 / threshold and new.seconds["q3"] < old.seconds["q1"]
    return Change(old, new, ratio, "slower" if slower else "faster" if faster else "same")
