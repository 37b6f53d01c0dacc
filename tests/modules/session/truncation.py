"""A session's file that is cut off at every byte of its last two items, as by a crash."""

from pathlib import Path

from core.turn import MemoryItem
from modules.session.file import MemoryFile
from modules.session.records import END, MemoryRecord, array_of


def cut_at_every_byte(folder: Path, items: int) -> int:
    """Cut it off and open it, each time: all whole items are there. Gives how often."""
    records = [
        MemoryRecord.of(
            MemoryItem(
                timestamp=number,
                type="tool_output",
                text=f'{number} ✓ "[{{\n',
                tool_name="add",
                tool_args={"a": number, "Ω": [1, {}]},
                success=True,
            )
        )
        for number in range(items)
    ]
    path = folder / "cut.json"
    data = array_of(records)
    ends = [len(array_of(records[: items - lacking])) - len(END) for lacking in (2, 1, 0)]
    path.write_bytes(data)
    for size in range(ends[0], len(data)):
        with path.open("r+b") as file:
            file.truncate(ends[0])
            file.seek(ends[0])
            file.write(data[ends[0] : size])
        opened = MemoryFile(path)
        opened.load()
        kept = items - 2 + sum(end <= size for end in ends[1:])
        assert [each.text for each in opened.records] == [each.text for each in records[:kept]], (
            size
        )
        is_cut = size < len(data) - 1  # the line end is no part of the array
        assert len(opened.warnings) == is_cut, (size, opened.warnings)
        whole = data[: ends[kept - items + 2]] + END
        assert path.read_bytes() == (whole if is_cut else data[:size])
        assert [*folder.iterdir()] == [path]
    return len(data) - ends[0]
