"""The running job of this process: its heap, copies, threads, waits, and the end or loss of PEs.

The users' chapters and ``ishmem.host_collectives`` import it; it imports ``ishmem.common``, ``ishmem.environment`` and
``ishmem.ipc``.
"""
