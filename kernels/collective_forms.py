"""Register collective routines that move data, for one work-item and for a work-group, from one implementation."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ishmem.common.call_id import dtype_number
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.violations import number

from . import type_checks
from .intrinsics import compiled, device
from .rendezvous import call_of, flow_of
from .tile_collectives import tile_call
from .views import is_view


def _check(
    name: str, types: tuple[str, ...], site: Any, dest: Any, source: Any, team: Any, nelems: Any, **integers: Any
) -> int:
    """Check the argument types of a call at compile time; return its dtype number."""
    type_checks.may_wait(name)
    type_checks.site(name, site)
    for argument, kind in (("dest", dest), ("source", source)):
        type_checks.element_type(name, argument, kind, types)
    if are_tiles(name, dest, source):
        type_checks.tiles(name, nelems, dest=dest, source=source)
    else:
        type_checks.contiguous(name, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    for argument, kind in {**integers, "team": team}.items():
        type_checks.integer(name, argument, kind)
    if not type_checks.absent(nelems):
        type_checks.integer(name, "nelems", nelems)
    return dtype_number(dest.dtype)


@compiled
def whole_call(routine, dtype, dest, source, nelems, root, team):
    """Return the `Call` of contiguous arrays."""
    return call_of(routine, dtype, dest, source, nelems, root, 1, 1, team)


def are_tiles(name: str, dest: Any, source: Any) -> bool:
    """Return whether a call is one of tiles: a routine that takes them has an array that is not contiguous."""
    return COLLECTIVES[name].tiles and (is_view(dest) or is_view(source))


def register(name: str, module: ModuleType, run: Any, sample: Any, run_tile: Any = None) -> None:
    """Register a routine ``name`` and its ``name_work_group``, with the arguments that the table gives it.

    Args:
        name: Name of the routine in ``module``.
        module: The host module.
        run: The implementation, ``run(sample, call, flow, group, site)``; ``call`` and ``group`` are as in
            ``ishmem.kernels.rendezvous``.
        sample: An intrinsic that makes from ``dest`` a value of its dtype, or the integer 0 if ``run`` does not depend
            on the dtype.
        run_tile: The same as ``run``, of tiles.
    """
    routine, traits = number(name), COLLECTIVES[name]
    flow, check = flow_of(traits), functools.partial(_check, name, traits.types)

    def chosen(dest: Any, source: Any) -> tuple[Any, Any]:
        return (run_tile, tile_call) if are_tiles(name, dest, source) else (run, whole_call)

    def plain(dest, source, team=0, nelems=None, site=None):
        dtype, (do, call) = check(site, dest, source, team, nelems), chosen(dest, source)
        return lambda dest, source, team=0, nelems=None, site=None: do(
            sample(dest), call(routine, dtype, dest, source, nelems, 0, team), flow, None, site
        )

    def plain_group(dest, source, group, team=0, nelems=None, site=None):
        dtype, (do, call) = check(site, dest, source, team, nelems), chosen(dest, source)
        return lambda dest, source, group, team=0, nelems=None, site=None: do(
            sample(dest), call(routine, dtype, dest, source, nelems, 0, team), flow, group, site
        )

    def rooted(dest, source, root, team=0, nelems=None, site=None):
        dtype, (do, call) = check(site, dest, source, team, nelems, root=root), chosen(dest, source)
        return lambda dest, source, root, team=0, nelems=None, site=None: do(
            sample(dest), call(routine, dtype, dest, source, nelems, root, team), flow, None, site
        )

    def rooted_group(dest, source, root, group, team=0, nelems=None, site=None):
        dtype, (do, call) = check(site, dest, source, team, nelems, root=root), chosen(dest, source)
        return lambda dest, source, root, group, team=0, nelems=None, site=None: do(
            sample(dest), call(routine, dtype, dest, source, nelems, root, team), flow, group, site
        )

    def strided(dest, source, dst, sst, nelems, team=0, site=None):
        dtype = check(site, dest, source, team, nelems, dst=dst, sst=sst)
        return lambda dest, source, dst, sst, nelems, team=0, site=None: run(
            sample(dest), call_of(routine, dtype, dest, source, nelems, 0, dst, sst, team), flow, None, site
        )

    def strided_group(dest, source, dst, sst, nelems, group, team=0, site=None):
        dtype = check(site, dest, source, team, nelems, dst=dst, sst=sst)
        return lambda dest, source, dst, sst, nelems, group, team=0, site=None: run(
            sample(dest), call_of(routine, dtype, dest, source, nelems, 0, dst, sst, team), flow, group, site
        )

    forms = (strided, strided_group) if traits.strided else (rooted, rooted_group)
    single, grouped = forms if traits.strided or traits.has_root else (plain, plain_group)
    device(getattr(module, name))(single)
    device(getattr(module, f"{name}_work_group"))(grouped)
