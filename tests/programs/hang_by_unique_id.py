"""Joins a job of two PEs by a unique id, and waits in vain; arguments: the id and the rank."""

import sys

import ishmem

ishmem.init(uid=sys.argv[1], rank=int(sys.argv[2]), nranks=2)
a = ishmem.zeros(1, dtype="i8")
ishmem.wait_until(a, ishmem.CMP_EQ, 1)
