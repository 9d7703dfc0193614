"""Register collective routines that move data, for one work-item and for a work-group, from one implementation."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ishmem.common.collective_table import COLLECTIVES, Collective
from ishmem.common.violations import number

from . import type_checks
from .combining import sample_of
from .forms import forms, integers
from .rendezvous import call_of, flow_of
from .tile_collectives import tile_call
from .views import is_view


def _check(traits: Collective, name: str, dest: Any, source: Any, nelems: Any = None, **others: Any) -> bool:
    """Check the argument types of a call at compile time; return whether it is one of tiles."""
    has_tiles = traits.tiles and (is_view(dest) or is_view(source))
    for argument, kind in (("dest", dest), ("source", source)):
        type_checks.element_type(name, argument, kind, traits.types)
    if has_tiles:
        type_checks.tiles(name, nelems, dest=dest, source=source)
    else:
        type_checks.contiguous(name, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    integers(name, **others)
    if not type_checks.absent(nelems):
        type_checks.integer(name, "nelems", nelems)
    return has_tiles


def register(name: str, module: ModuleType, run: Any, run_tile: Any = None) -> None:
    """Register a routine ``name`` and its ``name_work_group``, with the arguments that the table gives it.

    Args:
        name: Name of the routine in ``module``.
        module: The host module.
        run: The implementation, ``run(sample, call, flow, group, site)``; ``call`` and ``group`` are as in
            ``ishmem.kernels.rendezvous``, and ``sample`` as in ``ishmem.kernels.combining``.
        run_tile: The same as ``run``, of tiles.
    """
    routine, traits = number(name), COLLECTIVES[name]
    flow = flow_of(traits)

    def of_arrays(dest, source, root, group, team=0, nelems=None, site=None):
        call = call_of(routine, dest, source, nelems, root, (1, 1), team)
        return run(sample_of(dest, routine), call, flow, group, site)

    def of_tiles(dest, source, root, group, team=0, nelems=None, site=None):
        return run_tile(sample_of(dest, routine), tile_call(routine, dest, source, root, team), flow, group, site)

    def strided(dest, source, dst, sst, nelems, group, team=0, site=None):
        call = call_of(routine, dest, source, nelems, None, (dst, sst), team)
        return run(sample_of(dest, routine), call, flow, group, site)

    bodies = (strided,) if traits.strided else (of_arrays, of_tiles)
    forms(module, name, functools.partial(_check, traits), *bodies)
