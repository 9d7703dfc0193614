"""``ishmem run``: starts the PEs, prints their output, watches them, and ends the job when one fails.

Only ``ishmem.cli`` imports it. It imports ``ishmem.common`` and ``ishmem.environment``, no more, so that it starts
quickly.
"""
