"""Queries inside kernels: the device forms of ``ishmem.query``.

``my_pe`` and ``n_pes`` are constants of the loaded kernel.
"""

from __future__ import annotations

from typing import Any

from ishmem import query
from ishmem.common.constants import VERSION

from . import type_checks
from .forms import form, integers, no_check
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


def _check(routine: str, a: Any, pe: Any) -> None:
    type_checks.array(routine, "a", a)
    type_checks.integer(routine, "pe", pe)


def _addr_accessible(a, pe):
    return 0 <= pe < pe_count() and is_symmetric(address_of(a), a.size * item_bytes(a))


form(query.my_pe, no_check, _my_pe)
form(query.n_pes, no_check, _n_pes)
form(query.info_get_version, no_check, _info_get_version)
form(query.pe_accessible, integers, _pe_accessible)
form(query.addr_accessible, _check, _addr_accessible)
