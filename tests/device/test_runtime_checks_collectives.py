"""``ISHMEM_CHECK`` and collectives in kernels: a mismatch among the PEs is raised on every PE, and no PE hangs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi, one_of

import ishmem

# Calls; what each raises on every PE, and words of the message.
CASES: dict[str, tuple[type[Exception], str]] = {
    "ishmem.sum_reduce(a, b, 0, 3 + me)": (
        ishmem.SymmetryError, "the PEs disagree.*sum_reduce of [34] elements.*sum_reduce of [34] elements",
    ),
    "ishmem.broadcast(a, b, 2)": (
        IndexError, "broadcast in a kernel on PE .: root is 2; PEs of the team are numbered 0 to 1",
    ),
    "ishmem.sum_reduce(a, b) if me else ishmem.team_sync(0)": (
        ishmem.SymmetryError, "the PEs disagree.*barrier_all, sync_all or team_sync",
    ),
    "ishmem.sum_reduce(a, b, 9)": (ValueError, r"team is 9; those of this PE are \[0, 1, 2\]"),
    "ishmem.sum_reduce(a, b if me else local)": (
        ishmem.SymmetryError, "is not on the symmetric heap|with wrong arguments",
    ),
    "ishmem.sum_reduce(a, b, 0, 5)": (
        IndexError, "5 elements from element 0 on are not all in the array of 4 elements",
    ),
}  # fmt: skip
call = dpex.kernel(one_of([*CASES, "ishmem.sum_reduce(a, b)"], "a", "b", "local", "me"))


@CHECKING(timeout=120)
def test_what_does_not_match_is_raised() -> None:
    me, a, b = ishmem.my_pe(), ishmem.zeros(4, dtype="i8"), ishmem.ones(4, dtype="i8")
    local = dpnp.ones(4, dtype="i8")
    for case, (kind, words) in enumerate(CASES.values()):
        dpex.call_kernel(call, kapi.Range(1), a, b, local, me, case)
        with pytest.raises(kind, match=words):
            ishmem.barrier_all()
        assert not a.asnumpy().any()
        ishmem.barrier_all()
    dpex.call_kernel(call, kapi.Range(1), a, b, local, me, len(CASES))
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [2, 2, 2, 2]


@dpex.kernel
def reduce_or_not(item: kapi.Item, a, b, count, root, synchronises):  # type: ignore
    if synchronises:
        ishmem.barrier_all()
    elif root >= 0:
        ishmem.broadcast(a, b, root, 0, count)
    else:
        ishmem.sum_reduce(a, b, 0, count)


def check_one_differs() -> None:
    """One PE makes another call than all others: all are told which."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, b = ishmem.zeros(500, dtype="i8"), ishmem.ones(500, dtype="i8")
    cases = {"sum_reduce of 3": (3, -1, 0), "broadcast": (4, 0, 0), "barrier_all": (4, 0, 1)}
    cases["sum_reduce of 499"] = 499, -1, 0
    for other, (name, case) in enumerate(cases.items()):
        other = other % n
        dpex.call_kernel(reduce_or_not, kapi.Range(1), a, b, *(case if me == other else (4, -1, 0)))
        with pytest.raises(ishmem.SymmetryError, match=f"the PEs disagree.*PE {other}: {name}"):
            ishmem.barrier_all()
        assert not a.asnumpy().any()
        ishmem.barrier_all()
        dpex.call_kernel(reduce_or_not, kapi.Range(1), a, b, 4, -1, 0)
        assert a.asnumpy()[:5].tolist() == [n] * 4 + [0]
        ishmem.barrier_all()
        a[:] = 0
    ishmem.barrier_all()


@CHECKING(timeout=120)
def test_one_differs() -> None:
    check_one_differs()


# ---- counts and displacements

GATHERV, SCATTERV, ALLTOALLV = range(3)
SENT = [[1, 2], [2, 1]]
"""What each PE sends to each, and so what each expects."""

FINE_LISTS = {"counts": [2, 1], "displs": [2, 0]}
LOST = (ishmem.SymmetryError, "the PEs disagree.*a call with wrong arguments")
UNLIKE = (
    ishmem.SymmetryError,
    "disagree; PE .: gatherv of dtype int64 with root 1, counts and displacements 0x.*; PE .: g",
)
SENDS = (ishmem.SymmetryError, "alltoallv.*PE 1 sends 3 elements to PE 0, which expects 2")
HUGE = 2**62

# The routine; what PE 1 passes instead; what is raised there, and on PE 0 where that does not just hear of it.
COUNTED = {
    "few": (GATHERV, {"counts": [2]}, (ValueError, "gatherv.*PE 1: counts has 1 numbers; the team has 2 PEs")),
    "many": (SCATTERV, {"displs": [2, 0, 1]}, (ValueError, "scatterv.*displs has 3 numbers; the team has 2 PEs")),
    "count": (GATHERV, {"counts": [2, -1]}, (ValueError, r"counts\[1\] is -1; the numbers are at least 0")),
    "place": (GATHERV, {"displs": [-4, 0]}, (ValueError, r"displs\[0\] is -4; the numbers are at least 0")),
    "outside": (SCATTERV, {"displs": [2, 4]}, (IndexError, "1 elements from element 4 on are not all in the")),
    "huge": (GATHERV, {"counts": [HUGE, 1], "displs": [HUGE, 0]}, (IndexError, f"{HUGE} elements from element {HUGE}")),
    "short": (GATHERV, {"size": 0}, (IndexError, "1 elements from element 0 on are not all in the array of 0")),
    "local": (GATHERV, {"size": None}, (ishmem.SymmetryError, "gatherv.*is not on the symmetric heap")),
    "root": (GATHERV, {"root": 2}, (IndexError, "gatherv.*PE 1: root is 2; PEs of the team are numbered 0 to 1")),
    "team": (ALLTOALLV, {"team": 9}, (ValueError, "alltoallv.*team is 9")),
    "other counts": (GATHERV, {"counts": [1, 1]}, UNLIKE, UNLIKE),
    "other places": (GATHERV, {"displs": [1, 0]}, UNLIKE, UNLIKE),
    "to": (ALLTOALLV, {"to": [2]}, (ValueError, "alltoallv.*PE 1: dest_counts has 1 numbers; the team has 2 PEs")),
    "to_at": (ALLTOALLV, {"to_at": [0, -1]}, (ValueError, r"dest_displs\[1\] is -1; the numbers are at least 0")),
    "of": (ALLTOALLV, {"of": [2, 3]}, (IndexError, "alltoallv.*: 3 elements from element 2 on are not all in")),
    "of_at": (ALLTOALLV, {"of_at": [0, 2, 3]}, (ValueError, "alltoallv.*source_displs has 3 numbers; the team has 2")),
    "sent": (ALLTOALLV, {"of": [3, 1], "of_at": [0, 0]}, SENDS, SENDS),
    "own": (ALLTOALLV, {"of": [2, 0]}, (ishmem.SymmetryError, "PE 1 sends 0 elements to PE 1, which expects 1")),
}


@dpex.kernel
def call_counted(item: kapi.Item, chosen, dest, source, counts, displs, to, to_at, of, of_at, root, team):  # type: ignore
    if chosen[GATHERV]:
        ishmem.gatherv(dest, source, counts, root, displs, team)
    if chosen[SCATTERV]:
        ishmem.scatterv(dest, source, counts, root, displs, team)
    if chosen[ALLTOALLV]:
        ishmem.alltoallv(dest, source, to, of, to_at, of_at, team)


def run_counted(routine: int, dest: Any, source: Any, **changed: Any) -> None:
    sent = SENT[ishmem.my_pe()]
    places = np.cumsum(sent) - sent
    given = {**FINE_LISTS, "to": sent, "to_at": places, "of": sent, "of_at": places, "root": 1, "team": 0, **changed}
    lists = [dpnp.asarray(list(given[name]), dtype="i8") for name in list(given)[:6]]
    chosen = dpnp.asarray([name == routine for name in range(3)])
    dpex.call_kernel(call_counted, kapi.Range(1), chosen, dest, source, *lists, given["root"], given["team"])


@CHECKING(timeout=120)
def test_counts_and_places() -> None:
    me, dest = ishmem.my_pe(), ishmem.zeros(4, dtype="i8")
    ones = ishmem.ones(4, dtype="i8")
    sources = {4: ones, 0: ones[:0], None: dpnp.ones(4, dtype="i8")}
    for name, (routine, changed, *raised) in COUNTED.items():
        if me == 1 or name != "team":  # there PE 0 would wait for a member that there is not
            given = dict(changed) if me == 1 else {}
            run_counted(routine, dest, sources[given.pop("size", 4)], **given)
            kind, words = raised[0] if me == 1 else [LOST, *raised[1:]][-1]
            with pytest.raises(kind, match=words):
                ishmem.quiet()
        assert not dest.asnumpy().any(), name
        ishmem.barrier_all()
    run_counted(ALLTOALLV, dest, ones)
    ishmem.barrier_all()
    assert dest.asnumpy().tolist() == [1, 1, 1, 0]
