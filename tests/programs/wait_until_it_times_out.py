"""Waits in vain, and prints the error."""

import os

import ishmem

ishmem.init("8M")
flag = ishmem.zeros(1, dtype="i8")
try:
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
except ishmem.WaitTimeout as error:
    print(error, flush=True)
os._exit(0)
