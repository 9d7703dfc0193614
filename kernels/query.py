"""Queries inside kernels: ``my_pe`` and ``n_pes`` are constants of the compiled kernel."""

from __future__ import annotations

from ishmem import constants, setup

from . import state
from .intrinsics import device, this_pe


@device(setup.my_pe)
def _my_pe():
    return lambda: this_pe()


@device(setup.n_pes)
def _n_pes():
    n_pes = state.current().n_pes
    return lambda: n_pes


@device(setup.info_get_version)
def _info_get_version():
    version = constants.VERSION
    return lambda: version
