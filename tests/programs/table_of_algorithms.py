"""Prints the table of algorithms that init installs."""

import ishmem
from ishmem.common import algorithms

install = algorithms.install


def told(table, forced=""):
    print("table", table["broadcast"], table["fcollect"], repr(forced))
    install(table, forced)


algorithms.install = told
with ishmem.init():
    pass
