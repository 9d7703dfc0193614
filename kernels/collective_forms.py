"""The forms of collective routines that move data: of one work-item and of a work-group, from one function for both."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ishmem.common.violations import call_word, number

from . import type_checks
from .intrinsics import both, device, number_or
from .rendezvous import Flow


def _check(
    name: str, routine: int, types: tuple[str, ...], dest: Any, source: Any, team: Any, nelems: Any, **integers: Any
) -> int:
    """Check the types of a call while its kernel compiles; return the word that stands for the call."""
    type_checks.may_wait(name)
    for argument, kind in (("dest", dest), ("source", source)):
        type_checks.array(name, argument, kind, types)
    type_checks.contiguous(name, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    for argument, kind in {**integers, "team": team}.items():
        type_checks.integer(name, argument, kind)
    if not type_checks.absent(nelems):
        type_checks.integer(name, "nelems", nelems)
    return call_word(routine, dest.dtype)


def register(
    name: str, module: ModuleType, do: Any, sample: Any, types: tuple[str, ...], options: tuple[str, ...], flow: Flow
) -> None:
    """Register the forms of a routine.

    Args:
        name: Its name, in ``module`` of the host.
        do: What they call: ``do(sample, word, arrays, nelems, steps, flow, group, team)``, where all but the first
            are arguments of ``ishmem.kernels.rendezvous.enter``.
        sample: An intrinsic that makes the first of these from ``dest``.
        types: The dtypes it takes.
        options: Names of the arguments between ``source`` and ``team``: none, ``root``, or ``dst`` and ``sst``.
        flow: Who sends what to whom.
    """
    routine = number(name)
    plan: Any = tuple(map(int, flow))  # numbers, for kernels

    check = functools.partial(_check, name, routine, types)

    def plain(dest, source, team=0, nelems=None):
        word = check(dest, source, team, nelems)
        return lambda dest, source, team=0, nelems=None: do(
            sample(dest), word, both(dest, source), number_or(nelems, -1), (0, 1, 1), plan, None, number_or(team, 0)
        )  # fmt: skip

    def plain_group(dest, source, group, team=0, nelems=None):
        word = check(dest, source, team, nelems)
        return lambda dest, source, group, team=0, nelems=None: do(
            sample(dest), word, both(dest, source), number_or(nelems, -1), (0, 1, 1), plan, group, number_or(team, 0)
        )  # fmt: skip

    def rooted(dest, source, root, team=0, nelems=None):
        word = check(dest, source, team, nelems, root=root)
        return lambda dest, source, root, team=0, nelems=None: do(
            sample(dest), word, both(dest, source), number_or(nelems, -1), (root, 1, 1), plan, None, number_or(team, 0)
        )  # fmt: skip

    def rooted_group(dest, source, root, group, team=0, nelems=None):
        word = check(dest, source, team, nelems, root=root)
        return lambda dest, source, root, group, team=0, nelems=None: do(
            sample(dest), word, both(dest, source), number_or(nelems, -1), (root, 1, 1), flags, group,
            number_or(team, 0)
        )  # fmt: skip

    def strided(dest, source, dst, sst, nelems, team=0):
        word = check(dest, source, team, nelems, dst=dst, sst=sst)
        return lambda dest, source, dst, sst, nelems, team=0: do(
            sample(dest), word, both(dest, source), nelems, (0, dst, sst), plan, None, number_or(team, 0)
        )  # fmt: skip

    def strided_group(dest, source, dst, sst, nelems, group, team=0):
        word = check(dest, source, team, nelems, dst=dst, sst=sst)
        return lambda dest, source, dst, sst, nelems, group, team=0: do(
            sample(dest), word, both(dest, source), nelems, (0, dst, sst), plan, group, number_or(team, 0)
        )  # fmt: skip

    single, grouped = ((plain, plain_group), (rooted, rooted_group), (strided, strided_group))[len(options)]
    device(getattr(module, name))(single)
    device(getattr(module, f"{name}_work_group"))(grouped)
