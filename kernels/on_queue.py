"""Kernels of one work-item that run barriers and syncs in the order of a SYCL queue."""

from __future__ import annotations

import functools
from typing import Any

import dpctl

import ishmem
from ishmem.environment import arrays

from .front_end import Range, call_kernel_async, kernel, kernel_api as kapi


@functools.cache
def _kernel(name: str) -> Any:
    routine = getattr(ishmem, name)

    def sync(item: kapi.Item, anchor, team):
        routine()

    def sync_team(item: kapi.Item, anchor, team):
        routine(team)

    def at_element(item: kapi.Item, array, first, second, index):
        routine(array, first, second, index)

    forms = {"team_sync": sync_team, "signal_add": at_element, "signal_set": at_element, "wait_until": at_element}
    return kernel(forms.get(name, sync))


def record(
    name: str, queue: dpctl.SyclQueue, after: list[dpctl.SyclEvent], array: Any = None, *numbers: int
) -> dpctl.SyclEvent:
    """Record a routine on a queue: of a symmetric array and three numbers, of a team, or without arguments."""
    if array is None:
        anchor = arrays.tensor.empty(1, dtype="int64", sycl_queue=queue)
    else:
        anchor = arrays.usm_array(array).to_device(queue)
    return call_kernel_async(_kernel(name), Range(1), tuple(after), anchor, *(numbers or (0,)))[1]


def launch(name: str, team: int, anchor: Any, after: dpctl.SyclEvent) -> tuple[dpctl.SyclEvent, dpctl.SyclEvent]:
    """Submit ``barrier_all``, ``sync_all`` or ``team_sync`` to the queue of ``anchor``, to run after ``after``.

    Returns:
        The event of the release of the arguments on the host, and that of the kernel.
    """
    released, done = call_kernel_async(_kernel(name), Range(1), (after,), anchor, team)
    return released, done
