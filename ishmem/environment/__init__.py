"""The environment of the process: its variables, the libraries of the SYCL stack, and the choice of a driver.

Every package but ``ishmem.common`` may import it; it imports ``ishmem.common`` only.
"""
