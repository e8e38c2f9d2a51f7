"""The console on one machine: its own PostgreSQL, its own Valkey and the console's processes under one supervisor.

Nothing in this package imports Django or any other third-party library: it starts before they are needed, stays small,
and the same code gives the tests their throw-away servers.
"""
