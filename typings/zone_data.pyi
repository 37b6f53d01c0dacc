"""Inside the sandbox alone: modules/sandbox/build_component.py writes it from tzdata."""

DATA: dict[str, bytes]
