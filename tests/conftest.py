"""Settings of the whole test run."""

import signal

from hypothesis import HealthCheck, settings

# The same examples in every run: a random one that fails would fail somebody else's change.
# `--hypothesis-profile=default` searches anew, and keeps what it finds.
# No time is judged either: the machine may be busy with something else.
settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

# A shell's background job ignores Ctrl-C, and so would the programs that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
