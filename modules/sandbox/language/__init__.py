"""The Python of plans: what is rewritten before a plan is fed, what it finds, and what it lacks."""
