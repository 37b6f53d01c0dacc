"""Files are read in a process that no file can crash, hang, or fill without being replaced."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from servers.reading.limits import Limits
from servers.reading.process.messages import Request
from servers.reading.process.worker import MEMORY_BYTES, ExtractionWorker, ReaderProcess
from servers.reading.source import ExtractionError, TakesLong

ODD = "tests.servers.reading.process.odd_reader"
SHORT = Limits(seconds=0.3, markdown_chars=10_000)

Odd = Callable[..., ExtractionWorker]


@pytest.fixture
def odd_worker(tmp_path: Path) -> Iterator[Odd]:
    """Makes workers with a reader that misbehaves as the name of a file says."""
    opened: list[ExtractionWorker] = []

    def make(limits: Limits | None = None) -> ExtractionWorker:
        bounds = limits or Limits()
        environ = {"HOME": str(tmp_path)}
        worker = ExtractionWorker(start=lambda: ReaderProcess("none", bounds, environ, ODD))
        opened.append(worker)
        return worker

    yield make
    for worker in opened:
        worker.close()


def test_a_file_that_crashes_the_reader_fails_and_the_next_one_is_read(odd_worker: Odd) -> None:
    worker = odd_worker()
    before = worker.extract(Path("a.txt")).markdown
    assert worker.extract(Path("a.txt")).markdown == before  # by the same process
    with pytest.raises(ExtractionError, match=r"crashed on it \(SIGSEGV\)"):
        worker.extract(Path("crashes.txt"))
    after = worker.extract(Path("a.txt")).markdown
    assert after.startswith("a ")
    assert after != before


def test_a_pdf_that_crashes_the_reader_is_read_again_with_more_care(odd_worker: Odd) -> None:
    worker = odd_worker()
    assert worker.extract(Path("crashes-at-first.pdf")).markdown.startswith("crashes-at-first")
    with pytest.raises(ExtractionError, match="SIGSEGV"):
        worker.extract(Path("crashes.pdf"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hangs.txt", r"took more than 0\.3 s"),
        ("runs-out-of-time.txt", "took more than"),
        ("babbles.txt", "makes no sense"),
        ("answers-another.txt", "makes no sense"),
        ("never-ends.txt", "too long"),
    ],
)
def test_a_reader_that_breaks_the_rules_is_replaced(
    odd_worker: Odd, name: str, reason: str
) -> None:
    # Time is short only where the reader hangs: starting one takes a while on a busy machine.
    worker = odd_worker(SHORT if name == "hangs.txt" else Limits(markdown_chars=10_000))
    with pytest.raises(ExtractionError, match=reason):
        worker.extract(Path(name))


def test_a_reader_that_went_to_rest_is_started_again_unnoticed(odd_worker: Odd) -> None:
    assert odd_worker().extract(Path("rests.txt")).markdown.startswith("rests ")


def test_closing_ends_a_file_that_is_being_read(odd_worker: Odd) -> None:
    worker = odd_worker()
    worker.extract(Path("a.txt"))
    failed = threading.Event()

    def read() -> None:
        with pytest.raises(ExtractionError):
            worker.extract(Path("hangs.txt"))
        failed.set()

    thread = threading.Thread(target=read)
    thread.start()
    worker.close()
    thread.join(timeout=10)
    assert failed.is_set()
    with pytest.raises(ExtractionError, match="stopped"):
        worker.extract(Path("a.txt"))


def test_the_real_reader_is_bounded_and_knows_no_secrets(tmp_path: Path) -> None:
    environ = {"PATH": "/bin", "GEMINI_API_KEY": "secret", "ANTHROPIC_API_KEY": "secret"}
    process = ReaderProcess("ocr", Limits(), environ)
    try:
        (tmp_path / "a.txt").write_text("some words\r\nand more", encoding="utf-8")
        assert process.read(Request(tmp_path / "a.txt")).markdown == "some words\nand more"
        with pytest.raises(ExtractionError, match="No such file"):
            process.read(Request(tmp_path / "b\udcff.txt"))
        folder = Path("/proc", str(process.pid))
        if folder.exists():
            assert b"secret" not in (folder / "environ").read_bytes()
            assert str(MEMORY_BYTES) in (folder / "limits").read_text(encoding="utf-8")
    finally:
        process.end()


def nested_pdf(levels: int, times: int) -> bytes:
    """A kilobyte that draws a square `times` to the power of `levels` times."""
    forms = range(4, 4 + levels)
    body = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</a 4 0 R>>>>"
        b"/Contents 4 0 R>>",
    ]
    for form in forms:
        drawn = b"/a Do " * times if form < forms[-1] else b"0 0 1 1 re f"
        inner = b"/Resources<</XObject<</a %d 0 R>>>>" % (form + 1) if form < forms[-1] else b""
        head = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]%s/Length %d>>" % (inner, len(drawn))
        body.append(b"%sstream\n%s\nendstream" % (head, drawn))
    objects = (b"%d 0 obj%s endobj\n" % each for each in enumerate(body, 1))
    return b"%PDF-1.4\n" + b"".join(objects) + b"trailer<</Root 1 0 R>>"


def test_a_small_pdf_that_takes_long_is_given_up_in_time_and_read_beside_others(
    tmp_path: Path,
) -> None:
    bomb, note = tmp_path / "bomb.pdf", tmp_path / "note.txt"
    bomb.write_bytes(nested_pdf(8, 10))
    note.write_text("A note.")
    with closing(ExtractionWorker("none", processes=2)) as worker:
        with pytest.raises(TakesLong):
            worker.extract(bomb, 2.0)
        whole = threading.Thread(target=give_up, args=(worker, bomb), daemon=True)
        whole.start()
        assert worker.extract(note).markdown == "A note."
        assert whole.is_alive()
    whole.join(30)
    assert not whole.is_alive()


def give_up(worker: ExtractionWorker, path: Path) -> None:
    with suppress(ExtractionError):
        worker.extract(path)
