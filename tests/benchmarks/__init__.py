"""How fast the console is, always beside the fastest way to do the same on the same machine: `make bench`."""
