"""Programs of a few calls, on the host and in kernels. With ``whole`` they are right; else one call is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from common import dpex, one_line

import ishmem

from .arrays import Arrays, Program, programs

WAIT = "ishmem.wait_until(flag, ishmem.CMP_EQ, value)"
WAIT_SIGNAL = "ishmem.signal_wait_until(signal, ishmem.CMP_EQ, value)"
ARGUMENTS = ("box", "other", "data", "flag", "signal", "value", "pe", "whole")
GROUP = 4


def _box(the: Arrays, value: int) -> bool:
    return the.has(the.box, value)


def _other(the: Arrays, value: int) -> bool:
    return the.has(the.other, value)


def _both(the: Arrays, value: int) -> bool:
    return the.has(the.box, value) and the.has(the.other, value)


class Calls(NamedTuple):
    """The statements of a program; ``data`` hold the value when it begins.

    Attributes:
        host: Its name on the host, if it runs there.
        kernel: Its name in a kernel, if it runs there.
        doc: Which call is missing, and where.
        before: Statements before that call.
        order: The call.
        after: Statements after it.
        good: Whether this PE has got what it should.
        meets: Whether the PEs meet before they look.
        instead: What stands in place of the call.
    """

    host: str
    kernel: str
    doc: str
    before: str
    order: str
    after: str = "pass"
    good: Callable[[Arrays, int], bool] = _box
    meets: bool = False
    instead: str = "pass"


CALLS = [
    Calls("flag_by_atomic", "flag_in_kernel", "Fence between data and an atomic flag.",
          "ishmem.put(box, data, pe)", "ishmem.fence()", f"ishmem.atomic_set(flag, value, pe); {WAIT}"),
    Calls("flag_by_p", "elements_in_kernel", "Fence between elements and a flag that p stores.",
          "for i in range(box.size): ishmem.p(box, value, pe, i)", "ishmem.fence()",
          f"ishmem.p(flag, value, pe); {WAIT}"),
    Calls("flag_by_signal", "signal_in_kernel", "Fence between data and a signal that does not belong to them.",
          "ishmem.put(box, data, pe)", "ishmem.fence()",
          f"ishmem.put_signal(other, data, signal, value, ishmem.SIGNAL_SET, pe); {WAIT_SIGNAL}", _both),
    Calls("flag_by_signal_of_view", "signal_of_view_in_kernel", "Fence between data and a signal of a view.",
          "ishmem.put(box, data, pe)", "ishmem.fence()",
          f"ishmem.put_signal(other[:4], data[::2], signal, value, ishmem.SIGNAL_SET, pe); {WAIT_SIGNAL}",
          lambda the, value: the.has(the.box, value) and the.has(the.other[:4], value)),
    Calls("strided_flag", "strided_in_kernel", "Fence between strided data and a flag.",
          "for i in range(2): ishmem.iput(box[i:], data, 2, 1, 4, pe)", "ishmem.fence()",
          f"ishmem.p(flag, value, pe); {WAIT}"),
    Calls("", "work_group", "Fence of the work-group between data and flag.",
          "group = item.get_group(); ishmem.put_work_group(box, data, pe, group)", "ishmem.fence_work_group(group)",
          "if item.get_local_id(0) == 0: ishmem.atomic_add(flag, value, pe)\n"
          "    ishmem.wait_until_work_group(flag, ishmem.CMP_EQ, value, group)"),
    Calls("put_twice", "", "Fence between two puts to one place.",
          "ishmem.put(box, other, pe)", "ishmem.fence()", "ishmem.put(box, data, pe)", meets=True),
    Calls("add_after_set", "add_after_set_in_kernel", "Fence between two atomics on one element.",
          "ishmem.atomic_set(flag, value, pe)", "ishmem.fence()", "ishmem.atomic_add(flag, 1, pe)",
          lambda the, value: bool(ishmem.g(the.flag, the.me) == value + 1), meets=True),
    Calls("read_back", "", "Quiet between a put and a get of what it has put.",
          "ishmem.put(box, data, pe)", "ishmem.quiet()", "ishmem.get(other, box, pe)", _other),
    Calls("", "read_back_in_kernel", "Quiet between p and the g of the same element.",
          "ishmem.p(box, value, pe, 3)", "ishmem.quiet()", "other[0] = ishmem.g(box, pe, 3)",
          lambda the, value: bool(ishmem.g(the.other, the.me) == value)),
    Calls("read_counter", "counter_in_kernel", "Quiet between atomics and a fetch of their sum.",
          "for i in range(3): ishmem.atomic_add(flag, value, pe)", "ishmem.quiet()",
          "other[0] = ishmem.atomic_fetch(flag, pe)",
          lambda the, value: bool(ishmem.g(the.other, the.me) == 3 * value)),
    Calls("source_reused", "source_reused_in_kernel", "Quiet between a nonblocking put and the reuse of its source.",
          "ishmem.put_nbi(box, data, pe)", "ishmem.quiet()", "for i in range(data.size): data[i] = 0", meets=True),
    Calls("fence_for_quiet", "", "Quiet, for which a fence does not do, before a source is reused.",
          "ishmem.put_nbi(box, data, pe)", "ishmem.quiet()", "for i in range(data.size): data[i] = 0", meets=True,
          instead="ishmem.fence()"),
    Calls("got_too_early", "got_too_early_in_kernel", "Quiet between a nonblocking get and the use of its data.",
          "ishmem.get_nbi(other, data, pe)", "ishmem.quiet()", "for i in range(box.size): box[i] = other[i]",
          meets=True),
    Calls("sync_for_barrier", "", "Barrier, for which a sync does not do, between a put and its use on the target.",
          "ishmem.put(box, data, pe)", "ishmem.barrier_all()", instead="ishmem.sync_all()"),
    Calls("quiet_before_sync", "sync_in_kernel", "Quiet before a sync of a team.",
          "ishmem.put(box, data, pe)", "ishmem.quiet()",
          "ishmem.team_sync(ishmem.TEAM_WORLD)\n    for i in range(box.size): other[i] = box[i]", _other),
    Calls("no_wait", "no_wait_in_kernel", "Wait for the signal of the data.",
          "ishmem.put_signal(box, data, signal, value, ishmem.SIGNAL_SET, pe)", WAIT_SIGNAL),
]  # fmt: skip


def _program(calls: Calls, name: str) -> Program:
    """Return a program on the host or in a kernel; its name says which of them."""
    choice = f"if whole: {calls.order}\n    else: {calls.instead}"
    function = one_line("\n    ".join([calls.before, choice, calls.after]), *ARGUMENTS, called=name)
    kernel = dpex.kernel(function)
    space = dpex.NdRange((GROUP,), (GROUP,)) if name == "work_group" else dpex.Range(1)

    def run(the: Arrays, value: int, whole: bool) -> bool:
        the.data[...] = value
        ishmem.barrier_all()
        given = (the.box, the.other, the.data, the.flag, the.signal, value, the.right, int(whole))
        if name == calls.kernel:
            dpex.call_kernel(kernel, space, *given)
        else:
            function(None, *given)
        if calls.meets:
            ishmem.barrier_all()
        good = calls.good(the, value)
        ishmem.barrier_all()
        return good

    run.__doc__ = calls.doc
    return run


for _calls in CALLS:
    for _name in filter(None, (_calls.host, _calls.kernel)):
        programs[_name] = _program(_calls, _name)
