"""Collectives of the host beyond the core: checks of arguments, error texts, and the algorithms of the device.

The public chapters import it; it imports ``ishmem.runtime`` and what that imports. The fast path is C++:
``ishmem/core/bind_collectives.cpp``.
"""
