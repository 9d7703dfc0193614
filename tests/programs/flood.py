"""Prints without end."""

from victim import start

start()
while True:
    print("x" * 100)
