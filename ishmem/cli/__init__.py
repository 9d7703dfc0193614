"""The command ``ishmem``: information, diagnosis and traces.

No other package imports it; it may import every other package.
"""
