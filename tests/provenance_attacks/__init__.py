"""What hostile text can make of a fully fooled planner, and honest tasks on the same tools.

`python -m tests.provenance_attacks` prints the counts that README gives.
"""
