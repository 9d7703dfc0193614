"""Kinds of host routines: collective ones wait for the calls of other PEs, waits for a variable that these update.

Traces take it from here (``ishmem.runtime.instruments``). Routines that are not listed, the on-queue forms among them,
wait at most for operations of their own PE.
"""

from __future__ import annotations

from ishmem.common.collective_table import COLLECTIVES

COLLECTIVE: dict[str, tuple[str, ...]] = {
    "setup": ("init", "init_thread", "finalize"),
    "memory": (
        "empty", "zeros", "ones", "full", "array", "arange", "empty_like", "zeros_like", "ones_like", "full_like",
        "malloc", "calloc", "align", "malloc_with_hints", "realloc", "free", "free_all", "static",
    ),
    "teams": (
        "team_split_strided", "team_split_2d", "team_destroy", "active_set",
        "Team.split_strided", "Team.split_2d", "Team.sync", "Team.destroy",
    ),
    "collectives": ("barrier_all", "sync_all", "team_sync", *COLLECTIVES),
}  # fmt: skip
"""The collective routines, by the chapter of the reference; methods with their class."""

VARIABLE: dict[str, tuple[str, ...]] = {
    "wait": ("wait_until",),
    "wait_sets": tuple(f"wait_until_{which}{form}" for which in ("all", "any", "some") for form in ("", "_vector")),
    "signals": ("signal_wait_until",),
    "locks": ("set_lock",),
}
"""The routines that wait for a variable, a signal or a lock, by chapter."""

_KINDS = {
    name: kind
    for kind, chapters in (("collective", COLLECTIVE), ("wait", VARIABLE))
    for names in chapters.values()
    for name in names
}


def kind_of(routine: str) -> str:
    """Return ``collective`` or ``wait``, empty for a routine that waits for no other PE."""
    return _KINDS.get(routine, "")
