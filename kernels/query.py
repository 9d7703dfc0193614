"""Queries inside kernels: the device forms of ``ishmem.query``.

``my_pe`` and ``n_pes`` are constants of the loaded kernel.
"""

from __future__ import annotations

from ishmem import query
from ishmem.common.constants import VERSION

from .forms import array_and_integers, form, integers, no_check
from .intrinsics import address_of, item_bytes
from .peers import is_symmetric
from .spec_constants import pe_count, this_pe


def _my_pe():
    return this_pe()


def _n_pes():
    return pe_count()


def _info_get_version():
    return VERSION


def _pe_accessible(pe):
    return 0 <= pe < pe_count()


def _addr_accessible(a, pe):
    return 0 <= pe < pe_count() and is_symmetric(address_of(a), a.size * item_bytes(a))


form(query.my_pe, no_check, _my_pe)
form(query.n_pes, no_check, _n_pes)
form(query.info_get_version, no_check, _info_get_version)
form(query.pe_accessible, integers, _pe_accessible)
form(query.addr_accessible, array_and_integers, _addr_accessible)
