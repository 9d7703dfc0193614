"""Kernels that run a routine in the order of a SYCL queue: barriers, syncs, and routines recorded in graphs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import dpctl

import ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.environment import arrays

from .front_end import NdRange, Range, call_kernel_async, kernel, kernel_api as kapi
from .intrinsics import written

SMALL = 1 << 12
"""Bytes up to which few work-items move the data of a collective recorded in a graph."""


@functools.cache
def _kernel(name: str) -> Any:
    """Return the kernel in which one work-item calls routine ``name``."""
    routine = getattr(ishmem, name)

    def plain(item: kapi.Item, anchor, team):
        routine()

    def of_team(item: kapi.Item, anchor, team):
        routine(team)

    def without_result(item: kapi.Item, array, first, second, last):
        routine(array, first, second, last)

    def with_result(item: kapi.Item, array, cmp, values, last, ret):
        ret[0] = routine(array, cmp, values, last)

    def with_indices(item: kapi.Item, ivars, cmp, values, status, ret, indices):
        ret[0] = routine(ivars, indices, cmp, values, status)

    bodies = {
        "barrier_all": plain, "sync_all": plain, "fence": plain, "quiet": plain, "team_sync": of_team,
        "signal_set": without_result, "signal_add": without_result, "signal_wait_until": with_result,
        "wait_until": without_result, "wait_until_all": without_result, "wait_until_all_vector": without_result,
        "wait_until_any": with_result, "wait_until_any_vector": with_result,
        "wait_until_some": with_indices, "wait_until_some_vector": with_indices,
    }  # fmt: skip
    return kernel(bodies[name])


_LISTS = ["dest_counts", "dest_displs", "source_counts", "source_displs"]


@functools.cache
def _collective_kernel(name: str, dtype: str | None, counted: bool) -> Any:
    """Return the kernel in which one work-group calls a collective; ``counted``: with ``nelems``, else of tiles.

    Its arguments are ``dest, source, team``, then, if the routine has them, the lists or ``nelems``, and ``dst, sst``
    or ``root``. With ``dtype`` bfloat16, the arrays are integers with the bits of its elements.
    """
    traits, routine = COLLECTIVES[name], getattr(ishmem, f"{name}_work_group")
    names = ["team"]
    if traits.counted:
        names += ["counts", "displs"] if traits.has_root else _LISTS
    elif counted:
        names.append("nelems")
    names += ["dst", "sst"] if traits.strided else ["root"] if traits.has_root else []
    view = f".view({dtype})" if dtype else ""
    passed = [f"dest{view}, source{view}", *(f"{each}={each}" for each in names), "group=item.get_group()"]
    parameters = [
        inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in ("item", "dest", "source", *names)
    ]
    scope = {"routine": routine, "bfloat16": kapi.bfloat16} if dtype else {"routine": routine}
    return kernel(written(routine, parameters, [f"routine({', '.join(passed)})"], scope))


def submit(
    name: str, queue: dpctl.SyclQueue, after: Sequence[dpctl.SyclEvent], arguments: Sequence[Any], dtype: str | None
) -> dpctl.SyclEvent:  # fmt: skip
    """Submit routine ``name`` to a queue, to run after events ``after``; return the event of its end.

    ``arguments`` are in the order of the routine's kernel. With ``dtype`` ``"bfloat16"``, arrays of a collective are
    integers with the bits of its elements; it is None for other arrays.
    """
    given = [arrays.usm_array(each).to_device(queue) if arrays.on_device(each) else each for each in arguments]
    if name in COLLECTIVES:
        items = 16 if max(each.nbytes for each in given[:2]) <= SMALL else 256
        counted = len(given) > 3 + COLLECTIVES[name].has_root
        found, space = _collective_kernel(name, dtype, counted), NdRange((items,), (items,))
    else:
        found, space = _kernel(name), Range(1)
    if len(given) < 2:  # a barrier, a sync or an order, of a team or without arguments
        given = [arrays.tensor.empty(1, dtype="int64", sycl_queue=queue), *(given or (0,))]
    return call_kernel_async(found, space, tuple(after), *given)[1]


def launch(name: str, team: int, anchor: Any, after: dpctl.SyclEvent) -> tuple[dpctl.SyclEvent, dpctl.SyclEvent]:
    """Submit ``name``, a barrier or sync, to the queue of the array ``anchor``, to run after event ``after``.

    It is ``barrier_all``, ``sync_all`` or ``team_sync``; only the last one uses ``team``, a handle.

    Returns:
        The event of the release of the arguments on the host, and that of the kernel.
    """
    released, done = call_kernel_async(_kernel(name), Range(1), (after,), anchor, team)
    return released, done
