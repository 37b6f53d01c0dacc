"""Task graphs for tests: small ones written by hand, and random ones."""

from hypothesis import strategies as st

from core.team.graph import Subtask, TaskGraph


def graph(*subtasks: Subtask, goal: str = "compare the leases") -> TaskGraph:
    """A graph of these."""
    return TaskGraph(goal, subtasks)


def subtask(id_: str, description: str = "", *after: str, critical: bool = False) -> Subtask:
    """A subtask that says its own id where nothing else is said."""
    return Subtask(id_, description or f"do {id_}", after=after, critical=critical)


@st.composite
def random_graphs(draw: st.DrawFn, most: int = 200) -> TaskGraph:
    """Graphs without cycles, their subtasks in any order."""
    size = draw(st.integers(1, most))
    # One seed is drawn: numbers drawn one by one took nearly all the time of these tests.
    random = draw(st.randoms(use_true_random=True))
    subtasks = [
        Subtask(
            f"t{number}",
            f"do {number}",
            after=tuple(
                f"t{needed}"
                for needed in sorted(
                    random.sample(range(number), random.randint(0, min(number, 3)))
                )
            ),
            critical=random.random() < 0.02,
        )
        for number in range(size)
    ]
    random.shuffle(subtasks)
    return TaskGraph("anything", tuple(subtasks))
