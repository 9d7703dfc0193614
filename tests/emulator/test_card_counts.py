"""What kernels execute on emulated cards: no more than ``docs/counts.json`` says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ishmem.environment import card
from tools.counts import __main__ as counts

TABLE = json.loads((Path(__file__).parents[2] / "docs" / "counts.json").read_text())
OWN, BARE = {"instructions": 12.0, "load": 1.0}, {"instructions": 10.0, "load": 1.0, "fence": 1.0}


@pytest.mark.slow_cases("2 PEs of b580", "4-b580", "2-max1550", "4-max1550")
@pytest.mark.skipif(bool(card.problem()), reason=f"no emulated card: {card.problem()}")
@pytest.mark.parametrize("name", list(TABLE["cards"]))
@pytest.mark.parametrize("pes", counts.PES)
def test_no_count_has_grown(pes: int, name: str) -> None:
    """``python -m tools.counts --json docs/counts.json --page docs/performance.md`` renews the table."""
    if counts.versions() != TABLE["versions"]:
        pytest.skip(f"counted with {', '.join(TABLE['versions'])}; here are {', '.join(counts.versions())}")
    before, now = TABLE["cards"][name], counts.counted(name, pes)
    others = tuple(f"{each} PEs" for each in counts.PES if each != pes)
    assert [each for each in before if not each.endswith(others) and (pes == 2 or "PEs" in each)] == list(now)
    found = {operation: counts.grown(before[operation]["own"], now[operation]["own"]) for operation in now}
    assert {operation: what for operation, what in found.items() if what} == {}


def test_growth_and_goal_of_an_operation() -> None:
    assert counts.grown(OWN, OWN) == counts.grown(OWN, {"instructions": 11.0}) == []
    assert counts.grown(OWN, BARE) == ["1 fence, 0 before"]
    assert counts.grown(BARE, OWN) == ["12 instructions, 10 before"]
    for more, reached in (({}, True), ({"instructions": 13.0}, False), ({"store": 1.0}, False)):
        found = {"own": {**OWN, **more}, "bare": BARE}
        assert counts.reaches_goal(found) == reached
        row = counts.table({"b580": {"p": found}}).splitlines()[-1]
        assert row.startswith("| p | B580 | 1") and row.endswith("| reached |" if reached else "| **missed** |")


def test_the_page_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    assert counts.page_text(TABLE) in page
