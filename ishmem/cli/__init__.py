"""The command ``ishmem``: information, diagnosis, and the table that maps the routines of C to Python.

Nothing imports it. It may import every other package.
"""
