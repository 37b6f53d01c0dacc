"""Settings of the whole test run."""

from hypothesis import settings

# The same examples in every run: a random one that fails would fail somebody else's change.
# `--hypothesis-profile=default` searches anew, and keeps what it finds.
settings.register_profile("repeatable", derandomize=True, database=None)
settings.load_profile("repeatable")
