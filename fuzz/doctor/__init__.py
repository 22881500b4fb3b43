"""Is this environment fit for relaxfuzz? What is looked at, and how.

Nothing here imports TVM in the process of the command: TVM may be missing, or take the process with
it. What may die or hang is looked at in a process of its own (`ward`).
"""
