"""Queries inside kernels: ``my_pe`` and ``n_pes`` are constants of the compiled kernel."""

from __future__ import annotations

from ishmem import query
from ishmem.common import constants

from .intrinsics import device
from .spec_constants import pe_count, this_pe


@device(query.my_pe)
def _my_pe():
    return lambda: this_pe()


@device(query.n_pes)
def _n_pes():
    return lambda: pe_count()


@device(query.info_get_version)
def _info_get_version():
    version = constants.VERSION
    return lambda: version
