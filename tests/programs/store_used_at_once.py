"""Puts and gets entries of a store that other processes use at the same time; the argument is its folder."""

import sys
from pathlib import Path

from store import Store  # a copy of ishmem.dpex.cache.store

store, made = Store(Path(sys.argv[1]), 20_000), 0
for n in range(60):
    key = f"{n:02x}" * 32
    with store.turn(key):
        value = store.get(key)
        if value is None:
            made += 1
            store.put(key, key.encode() * 8)
        elif value != key.encode() * 8:
            sys.exit("a wrong value")
    store.get(key)
print(made)
