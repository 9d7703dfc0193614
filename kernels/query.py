"""Queries inside kernels: the device forms of ``ishmem.query``.

``my_pe`` and ``n_pes`` are constants of the loaded kernel.
"""

from __future__ import annotations

from ishmem import query
from ishmem.common import constants

from . import type_checks
from .intrinsics import address_of, device, item_bytes
from .regions import is_symmetric
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


@device(query.pe_accessible)
def _pe_accessible(pe):
    type_checks.integer("pe_accessible", "pe", pe)
    return lambda pe: 0 <= pe < pe_count()


@device(query.addr_accessible)
def _addr_accessible(a, pe):
    type_checks.array("addr_accessible", "a", a)
    type_checks.integer("addr_accessible", "pe", pe)

    return lambda a, pe: 0 <= pe < pe_count() and is_symmetric(address_of(a), a.size * item_bytes(a))
