"""Collectives of the host beyond the core: checks of arguments, error texts, and the algorithms of the device.

The public modules of collectives import it; it imports ``ishmem.runtime`` and the modules below it. The fast path is in
C++: ``ishmem/core/bind_collectives.cpp``.
"""
