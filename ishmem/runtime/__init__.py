"""The running job of this process: its heap, copies, threads, waits, and the end or loss of PEs.

The users' chapters, ``ishmem.host_collectives``, ``kernels``, ``deep_ep``, ``testing``, ``cli`` and the benchmarks
import it; it imports ``ishmem.common``, ``environment``, ``ipc``, ``dpex`` and, once a kernel compiles, ``kernels``.
"""
