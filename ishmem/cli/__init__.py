"""The command ``ishmem``: information, diagnosis and traces.

``ishmem.__main__`` and the benchmarks import it; it may import every other package.
"""
