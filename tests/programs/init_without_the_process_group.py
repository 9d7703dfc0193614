"""Initialises without the process group of torch."""

import ishmem

try:
    ishmem.init()
except ishmem.IshmemError as error:
    print(error, flush=True)
