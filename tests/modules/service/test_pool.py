"""The pool of agents: who gets which, when one opens or ends, and how many there are."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from config.settings import SettingsError
from core.asking import Answer, Question
from core.errors import UsageError
from modules.service.agents import Agent, AgentSetting
from modules.service.pool import (
    CONVERSATIONS_MAX,
    AgentPool,
    ConversationBusy,
    TooManyAgents,
    User,
    user_named,
)
from tests.command_line import script
from tests.modules.service.made import (
    OWNER,
    WAIT_SECONDS,
    asks,
    child_processes,
    clock,
    fixture,
    says,
    setting,
    settled,
    unasked,
)
from tests.modules.talks import nobody

USERS = [user_named(f"u{number}") for number in range(6)]


@asynccontextmanager
async def pool_of(
    made: AgentSetting, *, idle_seconds: float = 600, agents_max: int = 16
) -> AsyncGenerator[AgentPool]:
    pool = AgentPool(made, clock, idle_seconds=idle_seconds, agents_max=agents_max)
    async with asyncio.timeout(WAIT_SECONDS), pool:
        yield pool


async def used(pool: AgentPool, user: User, profile: str = "default") -> Agent:
    """The agent, which nobody uses any more."""
    async with pool.agent(user, profile) as agent:
        return agent


class TestLives:
    async def test_all_who_come_at_once_get_one_agent_and_each_user_another(
        self, tmp_path: Path
    ) -> None:
        async with pool_of(setting(tmp_path, [])) as pool:
            agents = await asyncio.gather(*(used(pool, user) for user in USERS[:2] * 5))
            assert len({id(agent) for agent in agents}) == 2
            homes = {agent.setting.places.home for agent in agents}
            assert homes == {tmp_path / "users" / "u0", tmp_path / "users" / "u1"}
            assert pool.running(USERS[0]) is agents[0]
            assert pool.running(OWNER) is None

    async def test_who_gives_up_while_it_opens_leaves_it_to_the_others(
        self, tmp_path: Path
    ) -> None:
        async with pool_of(setting(tmp_path, [])) as pool:
            first, second = [asyncio.create_task(used(pool, OWNER)) for _ in range(2)]
            await asyncio.sleep(0)
            first.cancel()
            agent = await second
            assert first.cancelled()
            assert pool.running(OWNER) is agent

    async def test_an_idle_agent_ends_and_one_in_use_does_not(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [], fixture("gated", tmp_path, id_="gate"))
        before = child_processes()
        async with pool_of(made, idle_seconds=0.05) as pool, pool.agent(USERS[0]) as in_use:
            async with pool.agent(USERS[1]) as idle:  # starting a server may take longer
                await idle.dispatcher.initialize()
                assert child_processes() - before != set()  # of those before, some may be ending
            await settled(lambda: pool.running(USERS[1]) is None)
            await settled(lambda: child_processes() <= before)
            assert pool.running(USERS[0]) is in_use
            assert await used(pool, USERS[1]) is not idle

    async def test_the_one_that_is_idle_longest_makes_room_and_none_that_is_in_use(
        self, tmp_path: Path
    ) -> None:
        async with pool_of(setting(tmp_path, []), agents_max=2) as pool:
            await used(pool, USERS[0])
            await used(pool, USERS[1])
            async with pool.agent(USERS[0]):
                await used(pool, USERS[2])
                assert [pool.running(user) is None for user in USERS[:3]] == [False, True, False]
                async with pool.agent(USERS[1]):
                    with pytest.raises(TooManyAgents, match="2 agents are in use"):
                        await used(pool, USERS[2])

    async def test_as_many_as_may_be_are_opened_at_once_and_no_more(self, tmp_path: Path) -> None:
        async with pool_of(setting(tmp_path, []), agents_max=2) as pool:
            enough = asyncio.Event()

            async def hold(user: User) -> str:
                try:
                    async with pool.agent(user):
                        await enough.wait()
                        return "held"
                except TooManyAgents:
                    return "too many"

            holding = [asyncio.create_task(hold(user)) for user in USERS]
            await settled(lambda: sum(task.done() for task in holding) == 4)
            await settled(lambda: sum(pool.running(user) is not None for user in USERS) == 2)
            enough.set()
            assert sorted(await asyncio.gather(*holding)) == ["held"] * 2 + ["too many"] * 4

    async def test_many_users_one_after_the_other_share_few_places(self, tmp_path: Path) -> None:
        async with pool_of(setting(tmp_path, []), agents_max=1) as pool:
            for user in USERS:
                await used(pool, user)
            assert [pool.running(user) is None for user in USERS] == [True] * 5 + [False]

    async def test_what_fails_to_open_can_be_tried_again(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [], model="scripted:nowhere.json")
        async with pool_of(made, agents_max=1) as pool:
            for _ in range(2):
                with pytest.raises(UsageError, match=r"nowhere\.json"):
                    await used(pool, OWNER)

    async def test_the_end_of_the_pool_ends_agents_that_open_too(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [], fixture("gated", tmp_path, id_="gate"))
        before = child_processes()
        async with pool_of(made) as pool:
            await (await used(pool, USERS[0])).dispatcher.initialize()
            opening = asyncio.create_task(used(pool, USERS[1]))
            await asyncio.sleep(0)
        with pytest.raises(TooManyAgents, match="the service ends"):
            await opening
        assert child_processes() <= before
        assert asyncio.all_tasks() == {asyncio.current_task()}


class TestProfiles:
    async def test_a_changed_file_holds_for_the_next_agent(self, tmp_path: Path) -> None:
        file = tmp_path / "config" / "other.yaml"
        file.parent.mkdir()
        (file.parent / "profiles.yaml").write_text("agent: {name: Usual, id: usual}\n")
        file.write_text("agent: {name: Before, id: other}\n")
        made = setting(tmp_path, [])
        async with pool_of(made, agents_max=1) as pool:
            first = await used(pool, OWNER, "other")
            file.write_text("agent: {name: After, id: other}\n")
            assert await used(pool, OWNER, "other") is first
            await used(pool, USERS[0])
            assert (await used(pool, OWNER, "other")).setting.profile.agent.name == "After"
            file.write_text("agent: {name: [}\n")
            await used(pool, USERS[0])
            with pytest.raises(SettingsError, match=r"other\.yaml"):
                await used(pool, OWNER, "other")

    async def test_a_token_for_some_profiles_gets_no_other_though_its_agent_is_there(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "config").mkdir()
        for name in ("profiles", "other"):
            text = f"agent: {{name: A, id: {name}}}\n"
            (tmp_path / "config" / f"{name}.yaml").write_text(text)
        all_of_them, one_of_them = user_named("ann"), user_named("ann", ("other",))
        async with pool_of(setting(tmp_path, [])) as pool:
            await used(pool, all_of_them)
            await used(pool, one_of_them, "other")
            for ask in (used(pool, one_of_them), used(pool, one_of_them, "nobody")):
                with pytest.raises(UsageError, match="there is no profile"):
                    await ask
            with pytest.raises(UsageError, match="there is no profile"):
                pool.running(one_of_them)

    @pytest.mark.parametrize("name", ["", "..", "a/b", "Ann", "a" * 65, "-a", "a\n"])
    def test_a_user_whose_name_is_no_folder_is_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match="is no name of a user"):
            user_named(name)

    @pytest.mark.parametrize(
        ("more", "told"),
        [
            ("memory: {{storage: {{base_dir: {}/kept}}}}\n", "memory.storage.base_dir"),
            ("memory: {{storage: {{base_dir: ../../kept}}}}\n", "memory.storage.base_dir"),
            ("documents: {{index_folder: {}/index}}\n", "documents.index_folder"),
        ],
    )
    async def test_none_is_used_by_which_users_would_share_what_is_kept(
        self, tmp_path: Path, more: str, told: str
    ) -> None:
        made = setting(tmp_path, [], more=more.format(tmp_path))
        async with pool_of(made) as pool:
            with pytest.raises(SettingsError, match=told):
                await used(pool, USERS[0])
            with pytest.raises(SettingsError, match=told):
                pool.check_user(USERS[0])
            pool.check_user(OWNER)
            await used(pool, OWNER)

    async def test_a_user_for_a_profile_that_is_not_there_is_told(self, tmp_path: Path) -> None:
        async with pool_of(setting(tmp_path, [])) as pool:
            with pytest.raises(UsageError, match="no profile 'lap'"):
                pool.check_user(user_named("u", ("default", "lap")))
            with pytest.raises(UsageError, match="no profile of this user is a file beside"):
                pool.check_user(user_named("u", ("nope",)))


class TestConversations:
    async def test_so_many_stay_open_and_the_oldest_is_closed(self, tmp_path: Path) -> None:
        async with pool_of(setting(tmp_path, [])) as pool:
            first_ones: dict[str, object] = {}
            for number in range(CONVERSATIONS_MAX + 1):
                async with pool.conversation(OWNER, "default", f"c{number}", unasked) as talk:
                    first_ones[f"c{number}"] = talk
            again: dict[str, object] = {}
            for name in (f"c{CONVERSATIONS_MAX}", "c1", "c0"):
                async with pool.conversation(OWNER, "default", name, unasked) as talk:
                    again[name] = talk
        assert [again[name] is first_ones[name] for name in again] == [True, True, False]

    async def test_one_that_begins_is_found_again_under_its_new_session(
        self, tmp_path: Path
    ) -> None:
        async with pool_of(setting(tmp_path, [says("x")])) as pool:
            async with pool.conversation(OWNER, "default", None, unasked) as new:
                await new.ask("hm", nobody)
            async with pool.conversation(OWNER, "default", new.session_id, unasked) as again:
                assert again is new
            async with pool.conversation(OWNER, "default", None, unasked) as other:
                assert other is not new

    async def test_one_that_answers_is_busy_and_is_not_closed_for_others(
        self, tmp_path: Path
    ) -> None:
        made = setting(tmp_path, [asks("which?"), says("x")])
        questions: list[Question] = []
        answer = asyncio.get_running_loop().create_future()

        async def put(question: Question) -> Answer | None:
            questions.append(question)
            return await answer

        async with pool_of(made) as pool:
            async with pool.conversation(OWNER, "default", "notes", put) as talk:
                asking = asyncio.create_task(talk.ask("hm", nobody))
                await settled(lambda: bool(questions))
                with pytest.raises(ConversationBusy):
                    async with pool.conversation(OWNER, "default", "notes", unasked):
                        pass
                with pytest.raises(ConversationBusy):
                    await pool.close_conversation(OWNER, "default", "notes")
                for number in range(CONVERSATIONS_MAX + 1):
                    async with pool.conversation(OWNER, "default", f"c{number}", unasked):
                        pass
                answer.set_result(Answer("this"))
                assert (await asking).answer == "x"
            async with pool.conversation(OWNER, "default", "notes", unasked) as again:
                assert again is talk
            await pool.close_conversation(OWNER, "default", "notes")
            async with pool.conversation(OWNER, "default", "notes", unasked) as anew:
                assert anew is not talk

    async def test_users_with_conversations_of_one_name_never_meet(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [], model=script(tmp_path, [says("one"), says("two")]))
        async with pool_of(made) as pool:
            for user in USERS[:2]:
                async with pool.conversation(user, "default", "notes", unasked) as talk:
                    await talk.ask(f"I am {user.name}", nobody)
        for user in USERS[:2]:
            text = next((tmp_path / "users" / user.name).rglob("notes.json")).read_text()
            assert [f"I am {each.name}" in text for each in USERS[:2]] == [
                each is user for each in USERS[:2]
            ]
