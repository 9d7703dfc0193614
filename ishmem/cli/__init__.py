"""The command ``ishmem``: information, diagnosis and traces.

Nothing imports it. It may import every other package.
"""
