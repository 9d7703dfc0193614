"""The pytest plugin: tests marked ``@pytest.mark.ishmem(npes=[2, 3])`` run on that many PEs.

`plugin` has the hooks, which pytest loads in every session, and `options` the settings; `controller` and `pe_processes`
start the PEs and ask them; `reports` makes one report of those of all PEs; `pe` is the program of a PE, a session of
pytest that runs what it is told. Imports pytest, which ishmem does not require; nothing imports this package.
"""
