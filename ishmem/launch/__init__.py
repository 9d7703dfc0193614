"""``ishmem run``: starts the PEs, prints their output, monitors them, and ends the job when one fails.

``ishmem.cli``, ``ishmem.testing`` and the benchmarks import it. To start quickly, it imports only ``ishmem.common``,
``ishmem.environment``, ``ishmem.ipc`` and ``ishmem.dpex.front_end``, and with ``--preload`` what PEs need.
"""
