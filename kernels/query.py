"""Queries inside kernels: the device forms of ``ishmem.query``.

``my_pe`` and ``n_pes`` are constants in the loaded kernel.
"""

from __future__ import annotations

from ishmem import query
from ishmem.common import constants
from ishmem.common.violations import UNREACHABLE, number

from . import type_checks
from .intrinsics import address_of, at_address, device
from .peers import peer_delta
from .proxy import is_mapped
from .runtime_checks import allowed, report
from .spec_constants import pe_count, this_pe

PTR = number("ptr")


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


@device(query.ptr)
def _ptr(a, pe):
    type_checks.array("ptr", "a", a)
    type_checks.integer("ptr", "pe", pe)

    def impl(a, pe):
        if allowed(PTR, a, pe, 0, 0):
            if is_mapped(pe):
                return at_address(a, address_of(a) + peer_delta(pe))
            # A kernel cannot return None: it returns this PE's array and records a violation, which the host raises.
            report(PTR, UNREACHABLE, pe, address_of(a), 0, 0, a.size)
        return a

    return impl
