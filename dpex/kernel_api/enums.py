"""Memory orders, scopes and address spaces; the numbers are those of SYCL."""

from enum import IntEnum


class MemoryOrder(IntEnum):
    """Memory orders of atomic operations and fences."""

    RELAXED = 0
    ACQUIRE = 1
    CONSUME_UNSUPPORTED = 2
    RELEASE = 3
    ACQ_REL = 4
    SEQ_CST = 5


class MemoryScope(IntEnum):
    """Memory scopes: the work-items among which a memory order holds."""

    WORK_ITEM = 0
    SUB_GROUP = 1
    WORK_GROUP = 2
    DEVICE = 3
    SYSTEM = 4


class AddressSpace(IntEnum):
    """Address spaces of SYCL."""

    PRIVATE = 0
    GLOBAL = 1
    CONSTANT = 2
    LOCAL = 3
    GENERIC = 4
