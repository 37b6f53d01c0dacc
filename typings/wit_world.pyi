"""What componentize-py makes of modules/sandbox/guest/plan.wit, inside the sandbox alone."""

from abc import abstractmethod
from typing import Protocol

def printed(text: str) -> None: ...
def wait(halted: str) -> str: ...

class WitWorld(Protocol):
    @abstractmethod
    def run(self, request: str) -> str: ...
