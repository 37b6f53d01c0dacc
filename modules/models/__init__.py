"""Model backends, one file each, behind `core.ports.TextModel`.

The packages hold their parts, what they share (`wire`, `sdk`, `deltas`), how one is found
(`choosing`, `credentials`), and what is done around every request (`serving`).
"""
