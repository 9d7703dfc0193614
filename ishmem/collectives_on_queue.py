"""The on-queue forms of the collective routines, the reductions and the scans.

The host of each PE makes the call after ``depends``, after the previous on-queue operation of the same queue, and
after the previous on-queue collective of the same team on any queue; in the recording of a graph, a kernel makes it.
All PEs of a team call on-queue collectives in the same order, on any queues. Host calls on the same team meanwhile are
independent of them: on-queue collectives use a second team of the same PEs, its *twin*. Arrays and sizes are checked
when the function is called. If the arguments of a PE are invalid or differ from those of the others, the next on-queue
call on the queue raises the error on the other PEs; if that call is collective, it is submitted first, as other PEs
wait for it. Destroy a team only after the events of its on-queue collectives have completed.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import dpctl

from ishmem import collectives, reductions, tiles, vcollectives
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.routines import exported
from ishmem.environment import arrays
from ishmem.host_collectives import checks
from ishmem.host_collectives.collective_call import CheckedCall, Given
from ishmem.on_queue import Depends, Queue, check_waits, recorded
from ishmem.runtime import check, graph_recording, job
from ishmem.runtime.queue_workers import Events, QueueWorker, Recorder, events_of
from ishmem.runtime.stubs import on_queue_form
from ishmem.teams import Team, find

__all__ = exported(__name__)


def _call(
    routine: Callable[..., None], dest: Any, source: Any, team: Team, sycl_queue: Queue, depends: Depends,
    **arguments: Any,
) -> dpctl.SyclEvent:  # fmt: skip
    this, group, name = job.current(), find(team), routine.__name__
    worker, twin = this.queue_workers.of(None), group.twin()
    facts = {each: value for each, value in arguments.items() if each in ("root", "nelems", "dst", "sst", "dtype")}
    lists = tuple(value for each, value in arguments.items() if each not in facts)
    try:
        events, worker = events_of(depends), this.queue_workers.of(sycl_queue)
        call = tiles.checked(name, group, dest, source, Given(lists=lists, **facts))
    except Exception as error:
        refusal = error  # "error" does not outlive this clause
        if not isinstance(worker, Recorder):
            _submit(this, group, worker, [], lambda: checks.tell_refusal(name, twin, refusal), None)
        raise
    if isinstance(worker, Recorder):
        return _record(worker, name, events, (dest, source), group, call, facts)
    action, problem = functools.partial(routine, dest, source, **arguments, team=twin), worker.take_problem()
    event = _submit(this, group, worker, events, action, (dest, source))
    if problem:
        raise problem
    return event


def _record(
    worker: Recorder, name: str, events: Events, given: tuple[Any, Any], group: Team, call: CheckedCall,
    facts: dict[str, Any],
) -> dpctl.SyclEvent:  # fmt: skip
    check_waits(name)
    views = [check.view(each, "array") for each in given]
    if not all(each.device for each in views):
        graph_recording.refuse(worker.queue, f"{name}_on_queue with an array in host memory")
    root = [int(facts["root"])] if "root" in facts else []
    sizes = [call.count] if call.count >= 0 else []
    numbers: list[Any] = [*sizes, *root, *(call.steps if "dst" in facts else ())]
    if call.lists:
        queue = job.current().heap.own_queue  # a copy to the queue of the recording would be recorded
        lists = [arrays.tensor.asarray(each, dtype="int64", sycl_queue=queue) for each in call.lists]
        numbers = [*(lists[2:] if name == "scatterv" else lists[:2] if root else lists), *root]
    dtype = "bfloat16" if "dtype" in facts and "bfloat16" in (facts["dtype"], views[0].dtype) else None
    passed = *(each.array for each in views), group.handle, *numbers
    return recorded(worker, name, events, *passed, team=group.handle, dtype=dtype)


def _submit(
    this: job.Job, group: Team, worker: QueueWorker, events: Events, action: Callable[[], None], keep: Any
) -> dpctl.SyclEvent:
    def submit(before: Events) -> dpctl.SyclEvent:
        return worker.run_on_host(before, action, keep=keep, collective=True)

    return this.queue_workers.in_turn(group.handle, events, submit)


for _name in COLLECTIVES:
    _routine = next(getattr(each, _name) for each in (collectives, reductions, vcollectives) if hasattr(each, _name))
    globals()[f"{_name}_on_queue"] = on_queue_form(
        _routine, _call, ".\n\nReturns its event. Collective over the team, not blocking."
    )
