"""Recordings: what they keep, what a replay gives, and how it fails when it is asked otherwise."""

import hashlib
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.redaction import Redactor
from core.errors import ModelUnavailable, StorageError, UsageError
from core.ports import (
    ImageInput,
    ModelReply,
    ModelRequest,
    ModelTraits,
    NativeToolCall,
    ReplyEnd,
    TextDelta,
    TextModel,
    ThinkingDelta,
)
from core.provenance.borders import Borders
from core.run.observation import bordered
from core.turn import Usage
from core.values import JsonObject
from modules.memory.past import Past
from modules.model_manager import ModelManager
from modules.models.recorded.file import append_line
from modules.models.recorded.model import RecordingModel, ReplayedModel
from modules.models.scripted import Reply, ScriptedModel
from modules.models.serving.budget import FREE
from modules.models.serving.watched import ChosenModel, collect_reply
from modules.planning.prompt.past import past_text
from tests.doubles import HandClock
from tests.modules.models.serving.doubles import Heard, HeldModel, transient

DECISION = ModelRequest("decision", "You plan.\nTools: add, subtract\nRequest: 2 + 2\nPlan:")
NO_SECRETS = Redactor({})


async def answer(model: TextModel, request: ModelRequest) -> ModelReply:
    """The whole reply to one request."""
    return await collect_reply(model, model.stream(request))


async def record(path: Path, *asked: tuple[ModelRequest, Reply]) -> None:
    """A recording of these requests and what came of them."""
    queues = [reply for _, reply in asked]
    model = RecordingModel(ScriptedModel(queues), path, NO_SECRETS)
    for request, reply in asked:
        if isinstance(reply, Exception):
            with pytest.raises(type(reply)):
                await answer(model, request)
        else:
            await answer(model, request)


def lines(path: Path) -> list[JsonObject]:
    """The recording, line by line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_replay_says_what_the_model_said(tmp_path: Path) -> None:
    file, calls = tmp_path / "r.jsonl", (NativeToolCall("add", {"a": [1, None, "ü"]}),)
    said = ModelReply("plan ✓", Usage(1, 30, 4, 20), thinking="hm", tool_calls=calls)
    asked = replace(DECISION, schema={"type": "object"}, temperature=0.5)
    await record(file, (asked, said), (DECISION, ModelReply("no", declined=True)))
    model = ReplayedModel(file, NO_SECRETS)
    assert model.name == f"replay:{file}"
    assert await answer(model, asked) == replace(said, model=model.name)
    assert (await answer(model, DECISION)).declined
    await model.aclose()


async def test_recording_changes_nothing_of_the_model(tmp_path: Path) -> None:
    inner = HeldModel("gemini:g", ModelTraits(images=True, context_tokens=9))
    model = RecordingModel(inner, tmp_path / "r", NO_SECRETS)
    assert (model.name, model.traits) == ("gemini:g", inner.traits)
    deltas = [ThinkingDelta("a"), TextDelta("b"), TextDelta("c"), ReplyEnd(Usage(1, 2, 3))]
    inner.put(*deltas, None)
    assert [delta async for delta in model.stream(DECISION)] == deltas
    assert ReplayedModel(tmp_path / "r").traits == inner.traits
    await model.aclose()
    assert inner.closed == 1


async def test_pieces_are_passed_on_before_the_reply_is_complete(tmp_path: Path) -> None:
    inner = HeldModel()
    inner.put(TextDelta("first"))
    stream = RecordingModel(inner, tmp_path / "r", NO_SECRETS).stream(DECISION)
    assert await anext(stream) == TextDelta("first")
    await stream.aclose()
    assert not inner.under_way
    assert lines(tmp_path / "r") == []


async def test_a_line_holds_the_request_and_what_came_of_it(tmp_path: Path) -> None:
    file = tmp_path / "r"
    image = ImageInput("cat.png", "image/png", b"pixels")
    await record(file, (replace(DECISION, images=(image,), schema={"a": 1}), "plan"))
    (line,) = lines(file)
    assert line["purpose"] == "decision"
    assert line["prompt"] == DECISION.prompt
    assert line["images"] == [hashlib.sha256(b"pixels").hexdigest()]
    assert line["schema"] == {"a": 1}
    assert line["model"] == "scripted"
    assert isinstance(key := line["key"], str)
    assert len(key) == 64
    assert isinstance(outcome := line["outcome"], dict)
    assert outcome["text"] == "plan"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_request_made_again_gets_the_next_outcome_and_the_last_one_stays(
    tmp_path: Path,
) -> None:
    file, other = tmp_path / "r", replace(DECISION, prompt="other")
    await record(file, (DECISION, "one"), (other, "else"), (DECISION, "two"))
    model = ReplayedModel(file, NO_SECRETS)
    said = [(await answer(model, DECISION)).text for _ in range(3)]
    assert said == ["one", "two", "two"]
    assert (await answer(model, other)).text == "else"


async def test_errors_are_replayed_with_what_decides_about_another_try(tmp_path: Path) -> None:
    file = tmp_path / "r"
    await record(
        file, (DECISION, transient("busy", 20)), (DECISION, transient("full", 999)), (DECISION, "x")
    )
    model = ReplayedModel(file, NO_SECRETS)
    with pytest.raises(ModelUnavailable, match=r"^busy$") as caught:
        await answer(model, DECISION)
    assert caught.value.transient
    assert caught.value.retry_after_seconds is None  # nobody is there to wait for
    with pytest.raises(ModelUnavailable, match=r"^full$") as caught:
        await answer(model, DECISION)
    assert caught.value.retry_after_seconds == 999  # which is not waited for, then and now


async def test_a_run_with_retries_is_replayed_as_it_was(tmp_path: Path) -> None:
    script = ScriptedModel([transient(), ModelReply("x", Usage(1, 5, 5, cost=1.0))])
    recorder = RecordingModel(script, tmp_path / "r", NO_SECRETS)
    await ModelManager(recorder, timing=HandClock().timing).generate(DECISION)
    clock = HandClock()
    manager = ModelManager(ReplayedModel(tmp_path / "r", NO_SECRETS), timing=clock.timing)
    assert (await manager.generate(DECISION)).text == "x"
    assert manager.usage == Usage(1, 5, 5)  # a replay costs nothing
    assert len(clock.pauses) == 1


async def test_a_chain_is_replayed_as_it_answered(tmp_path: Path) -> None:
    file, later = tmp_path / "r", replace(DECISION, prompt="later")
    scripts = [
        ScriptedModel([transient(), ModelUnavailable("down")], "a"),
        ScriptedModel(["from b", "later from b"], "b"),
    ]
    chain = [ChosenModel(RecordingModel(script, file, NO_SECRETS), FREE) for script in scripts]
    manager = ModelManager(chain, timing=HandClock().timing)
    with manager.telling(Heard()):
        said = [(await manager.generate(asked)).text for asked in (DECISION, later)]
    assert len(lines(file)) == 4
    replay = ModelManager(ReplayedModel(file, NO_SECRETS))
    assert [(await replay.generate(asked)).text for asked in (DECISION, later)] == said


async def test_a_recording_does_not_hide_what_a_reply_of_no_use_took(tmp_path: Path) -> None:
    held = HeldModel()
    held.put(ReplyEnd(Usage(1, 30, 4)), ModelUnavailable("nothing in it"))
    manager = ModelManager(RecordingModel(held, tmp_path / "r", NO_SECRETS))
    with pytest.raises(ModelUnavailable, match="nothing in it"):
        await manager.generate(DECISION)
    assert manager.usage.tokens == 34


async def test_secrets_are_not_written_and_do_not_hinder_a_replay(tmp_path: Path) -> None:
    file, redactor = tmp_path / "r", Redactor({"MY_KEY": "key-0123456789"})
    asked = replace(DECISION, prompt="use key-0123456789", schema={"x": "key-0123456789"})
    call = NativeToolCall("f", {"k": "key-0123456789"})
    replies: list[Reply] = [
        ModelReply("it is key-0123456789", thinking="key-0123456789", tool_calls=(call,)),
        ModelUnavailable("refused key-0123456789"),
    ]
    model = RecordingModel(ScriptedModel(replies), file, redactor)
    await answer(model, asked)
    with pytest.raises(ModelUnavailable):
        await answer(model, asked)
    assert "0123456789" not in file.read_text()
    assert (await answer(ReplayedModel(file, redactor), asked)).text == "it is [redacted MY_KEY]"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            replace(DECISION, prompt=DECISION.prompt.replace("2 + 2", "2 + 3")),
            r"no such decision request: line 3 of its prompt is '.*2 \+ 3', and was '.*2 \+ 2'",
        ),
        (replace(DECISION, prompt=DECISION.prompt + "\nmore"), "line 5 .* 'more', and was missing"),
        (replace(DECISION, prompt="You plan."), "line 2 .* is missing, and was 'nothing"),
        (replace(DECISION, schema={}), "the form that its reply should have changed"),
        (
            replace(DECISION, images=(ImageInput("a", "image/png", b""),)),
            "its images changed, its prompt did not",
        ),
        (replace(DECISION, purpose="summary"), "for summary was recorded, but 2 for decision"),
    ],
)
async def test_an_unknown_request_is_told_where_it_differs(
    asked: ModelRequest, told: str, tmp_path: Path
) -> None:
    far = replace(DECISION, prompt="You plan.\nnothing alike")
    await record(tmp_path / "r", (DECISION, "x"), (far, "y"))
    with pytest.raises(ModelUnavailable, match=f"{told}.*--model record:FILE") as caught:
        await answer(ReplayedModel(tmp_path / "r", NO_SECRETS), asked)
    assert not caught.value.transient


async def test_a_difference_within_a_long_line_is_shown_with_a_little_around_it(
    tmp_path: Path,
) -> None:
    long = "a" * 5_000 + "b" + "c" * 5_000
    await record(tmp_path / "r", (replace(DECISION, prompt=long), "x"))
    asked = replace(DECISION, prompt=long.replace("b", "\x1b"))
    with pytest.raises(ModelUnavailable, match=r"is …'a{20}\\x1bc+'…, and was …'a{20}bc") as caught:
        await answer(ReplayedModel(tmp_path / "r", NO_SECRETS), asked)
    assert len(str(caught.value)) < 600


async def test_half_a_character_can_be_recorded(tmp_path: Path) -> None:
    asked = replace(DECISION, prompt="half \ud83d")
    await record(tmp_path / "r", (asked, "reply \ude00\u2028end"))
    model = ReplayedModel(tmp_path / "r", NO_SECRETS)
    assert (await answer(model, asked)).text == "reply ?\u2028end"


async def test_a_kill_costs_one_line_and_what_follows_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "r"
    await record(file, (DECISION, "one"), (DECISION, "two"))
    file.write_bytes(file.read_bytes()[:-30])
    await record(file, (DECISION, "three"))
    model = ReplayedModel(file, NO_SECRETS)
    assert [(await answer(model, DECISION)).text for _ in range(2)] == ["one", "three"]
    with pytest.raises(ModelUnavailable, match=r"request \(1 of its lines can't be read\)"):
        await answer(model, replace(DECISION, prompt="other"))


def test_several_writers_do_not_mix_their_lines(tmp_path: Path) -> None:
    file, long = tmp_path / "r", "x" * 200_000
    with ThreadPoolExecutor(4) as writers:
        for number in range(8):
            writers.submit(append_line, file, {"n": number, "text": long}, 10**7)
    assert sorted(str(line["n"]) for line in lines(file)) == list("01234567")


async def test_a_recording_that_is_full_says_so(tmp_path: Path) -> None:
    script = ScriptedModel(["x", "y" * 900])
    model = RecordingModel(script, tmp_path / "r", NO_SECRETS, max_bytes=1_000)
    await answer(model, DECISION)
    with pytest.raises(StorageError, match=r"larger than 1,000 bytes.*record:FILE"):
        await answer(model, DECISION)
    assert len(lines(tmp_path / "r")) == 1


async def test_a_disk_that_is_full_is_told_as_such() -> None:
    model = RecordingModel(ScriptedModel(["x"]), "/dev/full", NO_SECRETS)
    with pytest.raises(StorageError, match="/dev/full can't be written"):
        await answer(model, DECISION)


def test_a_recording_that_cannot_be_written_is_refused_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    for path in (tmp_path, tmp_path / "missing" / "r"):
        with pytest.raises(UsageError, match="can't be written"):
            RecordingModel(ScriptedModel([]), path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"5", b"{}", b'{"key": "k", "purpose": "decision"}', b"\xff\xfe", b"[" * 9_999],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_no_recording_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(content)
    with pytest.raises(UsageError, match=r"holds no request.*record:FILE"):
        ReplayedModel(tmp_path / "r")


def test_a_recording_that_cannot_be_read_is_refused_with_its_path(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="can't be read"):
            ReplayedModel(path)
    with pytest.raises(UsageError, match="larger than"):
        ReplayedModel("/dev/zero")


def with_text(text: str, borders: Borders | None, *memories: str) -> ModelRequest:
    """A request with a text of others, in a session in which earlier ones are remembered."""
    past = past_text(Past(memories=memories), borders)
    note = "" if borders is None else borders.note
    told = f"{past}\n\nRead: {note}\n{bordered(text, borders)}\n\nRequest: what is it about?"
    return replace(DECISION, prompt=told)


async def test_random_borders_are_part_of_the_recording(tmp_path: Path) -> None:
    file, then, now = tmp_path / "r", Borders(), Borders()
    said = f"It says {then.within('cats')}."
    await record(
        file,
        (with_text("cats", then), ModelReply(said)),
        (with_text("dogs", then), ModelReply("dogs")),
    )
    model = ReplayedModel(file, NO_SECRETS)
    reply = await answer(model, with_text("cats", now))
    assert reply.text == f"It says {now.within('cats')}."
    assert (await answer(model, with_text("dogs", Borders()))).text == "dogs"
    with pytest.raises(ModelUnavailable, match="is 'birds', and was 'dogs' when it was recorded"):
        await answer(model, with_text("birds", now))


async def test_a_recording_from_before_borders_were_part_of_it_is_replayed_too(
    tmp_path: Path,
) -> None:
    file, then = tmp_path / "r", Borders()
    await record(file, (with_text("cats", then), ModelReply("cats")))
    (line,) = lines(file)
    del line["borders"]
    line |= {"prompt": with_text("cats", then).prompt, "key": "another"}
    file.write_text(json.dumps(line))
    assert (
        await answer(ReplayedModel(file, NO_SECRETS), with_text("cats", Borders()))
    ).text == "cats"


@pytest.mark.parametrize("then", [(), ("earlier, I asked for tea",)])
@pytest.mark.parametrize("now", [(), ("in this very recording: cats", "and <tea>")])
@pytest.mark.parametrize("is_bordered", [True, False])
async def test_what_earlier_sessions_have_left_since_makes_no_other_request(
    then: tuple[str, ...], now: tuple[str, ...], is_bordered: bool, tmp_path: Path
) -> None:
    file = tmp_path / "r"
    first = Borders() if then or is_bordered else None
    second = Borders() if now or is_bordered else None
    await record(
        file,
        (with_text("cats", first, *then), ModelReply("cats")),
        (with_text("dogs", first, *then), ModelReply("dogs")),
    )
    model = ReplayedModel(file, NO_SECRETS)
    for word in ("cats", "dogs"):
        assert (await answer(model, with_text(word, second, *now))).text == word
    with pytest.raises(ModelUnavailable, match="holds no such decision request"):
        await answer(model, with_text("birds", second, *now))
