"""``ishmem run``: starts the PEs, prints their output, monitors them, and ends the job when one fails.

Only ``ishmem.cli`` imports it. It imports only ``ishmem.common`` and ``ishmem.environment``, so that it starts
quickly.
"""
