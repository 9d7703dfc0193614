"""Definitions shared by all layers, host and kernels: errors, constants, the tables of routines and types, the heap's
layout, the shape of a team, the status board.

It imports nothing else of ishmem, so that every other package, ``ishmem.kernels`` included, may import it.
"""
