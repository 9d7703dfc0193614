"""``ishmem run``: starts the PEs, prints their output, monitors them, and ends the job when one fails.

``ishmem.cli``, ``ishmem.testing`` and the benchmarks import it. It imports ``ishmem.common``, ``ishmem.environment``
and ``ishmem.ipc``, so that it starts quickly; with ``--preload`` it loads the rest.
"""
