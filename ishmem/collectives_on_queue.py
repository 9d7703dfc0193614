"""The on-queue forms of the collective routines, the reductions and the scans.

The host of each PE does the call when its turn has come, as ``ishmem.on_queue`` says of all on-queue forms: after
``depends``, after the on-queue operation before it on the same queue, and after the on-queue collective before it of
the same team, whatever its queue. So all PEs of a team issue their on-queue collectives in the same order, on any
queues. They do not meet the calls that the host makes meanwhile on the same team: each team has a twin for them, of
the same PEs. Arrays and sizes are checked when the function is called: a PE that refuses its own takes part with the
refusal. That, or what the PEs disagree in, is raised on the others by the next on-queue call on the queue; a collective
one is done all the same, as other PEs wait for it. A team is destroyed after the events of its on-queue collectives
have completed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import dpctl

from ishmem import collectives, reductions, teams, vcollectives
from ishmem.collective import fallback
from ishmem.on_queue import Depends, Queue
from ishmem.runtime import job
from ishmem.runtime.queue_workers import Events, QueueWorker, events_of
from ishmem.teams import TEAM_WORLD, Team

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = [
    "alltoall_on_queue", "alltoalls_on_queue", "alltoallv_on_queue", "and_reduce_on_queue", "broadcast_on_queue",
    "collect_on_queue", "fcollect_on_queue", "gather_on_queue", "gatherv_on_queue", "max_reduce_on_queue",
    "min_reduce_on_queue", "or_reduce_on_queue", "prod_reduce_on_queue", "scatter_on_queue", "scatterv_on_queue",
    "sum_exscan_on_queue", "sum_inscan_on_queue", "sum_reduce_on_queue", "xor_reduce_on_queue",
]  # fmt: skip

_CHAPTERS = collectives, reductions, vcollectives


def broadcast_on_queue(
    dest: ndarray, source: ndarray, root: int, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``broadcast`` in the order of a queue.

    Source: ishmemx_broadcast_on_queue.
    """
    return _call("broadcast", dest, source, team, sycl_queue, depends, root=root, nelems=nelems)


def gather_on_queue(
    dest: ndarray, source: ndarray, root: int, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``gather`` in the order of a queue.

    Source: MPI_Gather, in the manner of ishmemx_fcollect_on_queue.
    """
    return _call("gather", dest, source, team, sycl_queue, depends, root=root, nelems=nelems)


def scatter_on_queue(
    dest: ndarray, source: ndarray, root: int, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``scatter`` in the order of a queue.

    Source: MPI_Scatter, in the manner of ishmemx_broadcast_on_queue.
    """
    return _call("scatter", dest, source, team, sycl_queue, depends, root=root, nelems=nelems)


def fcollect_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``fcollect`` in the order of a queue.

    Source: ishmemx_fcollect_on_queue.
    """
    return _call("fcollect", dest, source, team, sycl_queue, depends, nelems=nelems)


def collect_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``collect`` in the order of a queue.

    Source: ishmemx_collect_on_queue.
    """
    return _call("collect", dest, source, team, sycl_queue, depends, nelems=nelems)


def alltoall_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``alltoall`` in the order of a queue.

    Source: ishmemx_alltoall_on_queue.
    """
    return _call("alltoall", dest, source, team, sycl_queue, depends, nelems=nelems)


def sum_reduce_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``sum_reduce`` in the order of a queue.

    Source: ishmemx_sum_reduce_on_queue.
    """
    return _call("sum_reduce", dest, source, team, sycl_queue, depends, nelems=nelems)


def prod_reduce_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``prod_reduce`` in the order of a queue.

    Source: ishmemx_prod_reduce_on_queue.
    """
    return _call("prod_reduce", dest, source, team, sycl_queue, depends, nelems=nelems)


def max_reduce_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``max_reduce`` in the order of a queue.

    Source: ishmemx_max_reduce_on_queue.
    """
    return _call("max_reduce", dest, source, team, sycl_queue, depends, nelems=nelems)


def min_reduce_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``min_reduce`` in the order of a queue.

    Source: ishmemx_min_reduce_on_queue.
    """
    return _call("min_reduce", dest, source, team, sycl_queue, depends, nelems=nelems)


def and_reduce_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``and_reduce`` in the order of a queue.

    Source: ishmemx_and_reduce_on_queue.
    """
    return _call("and_reduce", dest, source, team, sycl_queue, depends, nelems=nelems)


def or_reduce_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``or_reduce`` in the order of a queue.

    Source: ishmemx_or_reduce_on_queue.
    """
    return _call("or_reduce", dest, source, team, sycl_queue, depends, nelems=nelems)


def xor_reduce_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``xor_reduce`` in the order of a queue.

    Source: ishmemx_xor_reduce_on_queue.
    """
    return _call("xor_reduce", dest, source, team, sycl_queue, depends, nelems=nelems)


def sum_inscan_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``sum_inscan`` in the order of a queue.

    Source: ishmemx_sum_inscan_on_queue.
    """
    return _call("sum_inscan", dest, source, team, sycl_queue, depends, nelems=nelems)


def sum_exscan_on_queue(
    dest: ndarray, source: ndarray, team: Team | int = TEAM_WORLD, nelems: int | None = None,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``sum_exscan`` in the order of a queue.

    Source: ishmemx_sum_exscan_on_queue.
    """
    return _call("sum_exscan", dest, source, team, sycl_queue, depends, nelems=nelems)


def alltoalls_on_queue(
    dest: ndarray, source: ndarray, dst: int, sst: int, nelems: int, team: Team | int = TEAM_WORLD,
    sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``alltoalls`` in the order of a queue.

    Source: shmem_alltoalls, in the manner of ishmemx_alltoall_on_queue.
    """
    return _call("alltoalls", dest, source, team, sycl_queue, depends, dst=dst, sst=sst, nelems=nelems)


def alltoallv_on_queue(
    dest: ndarray, source: ndarray, dest_counts: Sequence[int], source_counts: Sequence[int],
    dest_displs: Sequence[int] | None = None, source_displs: Sequence[int] | None = None,
    team: Team | int = TEAM_WORLD, sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``alltoallv`` in the order of a queue.

    Source: MPI_Alltoallv, in the manner of ishmemx_alltoall_on_queue.
    """
    lists = (dest_counts, source_counts, dest_displs, source_displs)
    names = ("dest_counts", "source_counts", "dest_displs", "source_displs")
    return _call("alltoallv", dest, source, team, sycl_queue, depends, lists, **dict(zip(names, lists)))


def gatherv_on_queue(
    dest: ndarray, source: ndarray, counts: Sequence[int], root: int, displs: Sequence[int] | None = None,
    team: Team | int = TEAM_WORLD, sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``gatherv`` in the order of a queue.

    Source: MPI_Gatherv, in the manner of ishmemx_collect_on_queue.
    """
    lists = (counts, displs)
    return _call("gatherv", dest, source, team, sycl_queue, depends, lists, counts=counts, root=root, displs=displs)


def scatterv_on_queue(
    dest: ndarray, source: ndarray, counts: Sequence[int], root: int, displs: Sequence[int] | None = None,
    team: Team | int = TEAM_WORLD, sycl_queue: Queue = None, depends: Depends = None,
) -> dpctl.SyclEvent:  # fmt: skip
    """``scatterv`` in the order of a queue.

    Source: MPI_Scatterv, in the manner of ishmemx_broadcast_on_queue.
    """
    lists = (counts, displs)
    return _call("scatterv", dest, source, team, sycl_queue, depends, lists, counts=counts, root=root, displs=displs)


def _call(
    routine: str, dest: Any, source: Any, team: Team | int, queue: Queue, depends: Depends, lists: tuple[Any, ...] = (),
    **arguments: Any,
) -> dpctl.SyclEvent:  # fmt: skip
    this, group = job.current(), teams.find(team)
    worker, twin = this.queue_workers.of(None), group.twin()
    facts = {name: value for name, value in arguments.items() if name in ("root", "nelems", "dst", "sst")}
    host = next(getattr(module, routine) for module in _CHAPTERS if hasattr(module, routine))
    try:
        events, worker = events_of(depends), this.queue_workers.of(queue)
        fallback.checked(routine, group, dest, source, **facts, lists=lists)
    except Exception as error:
        refusal = error  # "error" does not outlive this clause
        _submit(this, group, worker, [], lambda: fallback.tell_refusal(routine, twin, refusal), None)
        raise
    action, problem = functools.partial(host, dest, source, **arguments, team=twin), worker.take_problem()
    event = _submit(this, group, worker, events, action, (dest, source))
    if problem:
        raise problem
    return event


def _submit(
    this: job.Job, group: Team, worker: QueueWorker, events: Events, action: Callable[[], None], keep: Any
) -> dpctl.SyclEvent:
    def submit(before: Events) -> dpctl.SyclEvent:
        return worker.step(before, action, keep=keep, collective=True)

    return this.queue_workers.in_turn(group.handle, events, submit)
