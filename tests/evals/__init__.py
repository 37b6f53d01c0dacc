"""What measures planning, with a real model through the real loop; `make eval` runs it.

Answers are checked by rules, never by another model. Two ways of doing the same thing are compared
on the same requests, pair by pair.
"""
