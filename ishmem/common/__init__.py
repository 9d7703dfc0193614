"""What every layer and both sides agree on: errors, constants, type tables, the heap's layout, the shape of a team.

It imports nothing else of ishmem, so that every other package, ``ishmem.kernels`` included, may import it.
"""
