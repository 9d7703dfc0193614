"""How the host moves the data of a collective: the choice of an algorithm, the slow path, and the copy engine.

The public chapters import it; it imports ``ishmem.runtime`` and what that imports. The fast path is C++:
``ishmem/core/bind_collectives.cpp``.
"""
