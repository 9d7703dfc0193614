"""Collectives of 2-D tiles inside kernels: views whose rows are not adjacent.

All data move directly between the arrays of the members, after a rendezvous without data and before a barrier.
"""

from __future__ import annotations

from ishmem.common.call_id import REFUSED
from ishmem.common.violations import NOT_SYMMETRIC, TILES

from .collective_calls import ROOT, end_phase, is_member, pack_call
from .copy import WIDEST, get_steps, put_steps
from .intrinsics import compiled, rank_in
from .nodes import place_after
from .options import CHECK
from .peers import is_symmetric
from .rendezvous import NOTHING, Carried, group_broadcast, group_sync, rendezvous
from .runtime_checks import is_team_pe, report
from .teams import members_of, pe_of
from .work_division import Workers, workers_of


@compiled
def row_of(call, row, dest_row):
    """Return the addresses of row ``dest_row`` of ``dest`` and of row ``row`` of ``source``."""
    return call.dest + dest_row * call.dst * call.itemsize, call.source + row * call.sst * call.itemsize


@compiled
def _has_memory(call, address, rows, step):
    if rows * call.nelems == 0 or is_symmetric(address, ((rows - 1) * step + call.nelems) * call.itemsize):
        return True
    report(call.routine, NOT_SYMMETRIC, -1, address, 0, 0, rows * call.nelems)
    return False


@compiled
def _tile_allowed(call, size):
    """Return whether the arguments of a call by ``size`` members fit; report a violation if not."""
    blocks = size if call.flow.dest_blocks else 1
    apart = (call.dest_size < 2 or call.dst >= call.nelems) and (call.source_size < 2 or call.sst >= call.nelems)
    if call.nelems < 0 or not apart or call.dest_size != call.source_size * blocks:
        report(call.routine, TILES, blocks, 0, call.dest_size, 0, call.source_size)
        return False
    if not CHECK:
        return True
    if call.flow.from_root and not is_team_pe(call.routine, ROOT, call.root, size):
        return False
    return _has_memory(call, call.dest, call.dest_size, call.dst) and _has_memory(
        call, call.source, call.source_size, call.sst
    )


@compiled
def enter_tile(call, group):
    """Check and enter a call; return a status, as `collective_calls.enter`, and the number of rows to move."""
    if not is_member(call):
        return -1, 0
    members, agreed = members_of(call.team), True
    fits = _tile_allowed(call, members.size)
    call_id = pack_call(call.routine, call.dtype, call.root, call.dst, call.sst) if fits else REFUSED
    group_sync(group)
    if rank_in(group) == 0:
        count = call.source_size * call.nelems
        agreed = rendezvous(call.team, members, call_id, count, -1, Carried(NOTHING, 0, 0))
    return 1 if group_broadcast(group, agreed) else 0, call.source_size if fits else 0


@compiled
def shares_of(rows, nbytes, workers):
    """Return the first row of a work-item, the step to its next one, the end, and the `Workers` that share each row."""
    width = max(1, min(workers.width, nbytes // WIDEST))
    first, step = workers.rank // width, workers.width // width
    return first, step, rows if first < step else 0, Workers(workers.rank % width, width)


@compiled
def _transfer_rows(put, pe, call, rows, dest_row, group):
    first, step, end, sharing = shares_of(rows, call.nelems * call.itemsize, workers_of(group))
    for row in range(first, end, step):
        to, origin = row_of(call, row, dest_row + row)
        if put:
            put_steps(pe, to, origin, 1, 1, call.itemsize, call.nelems, sharing)
        else:
            get_steps(pe, to, origin, 1, 1, call.itemsize, call.nelems, sharing)


@compiled
def exchange_tile(call, group):
    """Run a broadcast or fcollect of tiles; return 0, or -1 when this PE is not in the team."""
    status, rows = enter_tile(call, group)
    if status > 0:
        members = members_of(call.team)
        if call.flow.from_root:
            _transfer_rows(0, pe_of(members, call.root), call, rows, 0, group)
        else:
            for step in range(members.size):
                pe = pe_of(members, place_after(members.me, step, members.size))
                _transfer_rows(1, pe, call, rows, members.me * rows, group)
        end_phase(group, call.team)
    return min(status, 0)
