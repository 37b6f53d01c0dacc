"""`agent.py` with the marks of its start-up written to stderr as they are passed."""

import gc
import sys
import time

INTERPRETER_READY = time.time()


def main() -> int:
    """Run the agent quietly, its debug marks on stderr; gives its exit code."""
    gc.disable()  # as agent.py does
    import logging

    from modules.app import run_agent

    class Marks(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            sys.stderr.write(f"{record.getMessage()} at {record.created}\n")

    logger = logging.getLogger("cortex_r.marks")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(Marks())
    sys.stderr.write(f"interpreter at {INTERPRETER_READY}\n")
    return run_agent(["--quiet", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
