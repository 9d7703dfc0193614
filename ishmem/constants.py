"""The named constants of OpenSHMEM, as enumerations that kernels can use too."""

from __future__ import annotations

from enum import IntEnum


class Cmp(IntEnum):
    """Comparisons of ``wait_until`` and ``test`` (OpenSHMEM 1.5, 9.10; the values of Intel SHMEM)."""

    EQ = 1
    NE = 2
    GT = 3
    GE = 4
    LT = 5
    LE = 6


CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE = Cmp

SYMBOLS = {Cmp.EQ: "==", Cmp.NE: "!=", Cmp.GT: ">", Cmp.GE: ">=", Cmp.LT: "<", Cmp.LE: "<="}

VERSION = (1, 5)
VENDOR_NAME = "ishmem for Python"
