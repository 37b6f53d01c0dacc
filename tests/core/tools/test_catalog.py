"""Names of tools: what each one means, and that none hides another."""

import ast
import keyword
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors import CallRefused
from core.tools.catalog import ToolCatalog
from core.tools.spec import as_identifier
from tests.doubles import tool


class TestNames:
    catalog = ToolCatalog(
        [
            tool("add", "math"),
            tool("fetch", "web"),
            tool("fetch", "files"),
            tool("read-file", "files"),
            tool("import", "files"),
        ]
    )

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("add", "math.add"),
            ("math.add", "math.add"),
            ("web.fetch", "web.fetch"),
            ("files.fetch", "files.fetch"),
            ("read-file", "files.read-file"),
            ("read_file", "files.read-file"),
            ("files.read-file", "files.read-file"),
            ("files.read_file", "files.read-file"),
            ("import", "files.import"),
            ("import_", "files.import"),
        ],
    )
    def test_a_tool_is_found_by_each_of_its_names(self, name: str, meant: str) -> None:
        assert self.catalog.resolve(name).qualified_name == meant
        assert self.catalog.get(name) is self.catalog.resolve(name)
        assert name in self.catalog

    def test_a_shared_name_is_refused_and_both_tools_named(self) -> None:
        with pytest.raises(CallRefused) as caught:
            self.catalog.resolve("fetch")
        assert str(caught.value) == (
            "'fetch' is offered by several servers; say web.fetch or files.fetch"
        )
        assert "fetch" not in self.catalog
        assert self.catalog.get("fetch") is None

    def test_an_unknown_name_gets_the_nearest_ones_if_any_are_near(self) -> None:
        with pytest.raises(CallRefused) as caught:
            self.catalog.resolve("readfile")
        assert str(caught.value) == "there is no tool 'readfile'; did you mean read-file?"
        with pytest.raises(CallRefused, match=r"; did you mean add\?$"):
            self.catalog.resolve("ad")
        with pytest.raises(CallRefused) as caught:
            self.catalog.resolve("zzzzzz")
        assert str(caught.value) == "there is no tool 'zzzzzz'"

    @pytest.mark.parametrize(
        ("made_up", "meant"),
        [
            ("multipy", "multiply"),
            ("multipli", "multiply"),
            ("mutliply", "multiply"),
            ("ad", "add"),
            ("files", "file"),
            ("searchDocument", "search_documents"),
            ("serch_documents", "search_documents"),
            ("math.multiplys", "multiply"),
            ("tools.Multiply", "multiply"),
        ],
    )
    def test_a_slip_of_the_pen_gets_the_name_that_was_meant(self, made_up: str, meant: str) -> None:
        assert ToolCatalog([tool(meant)]).nearest(made_up) == [meant]

    @pytest.mark.parametrize(
        ("made_up", "other"),
        [
            *(("cube", "cbrt"), ("square", "sqrt"), ("sin", "sinh"), ("atan", "atanh")),
            *(("get_user", "set_user"), ("read_email", "delete_email"), ("power", "power_off")),
            *(("delete_users", "delete_all_users"), ("cube_root", "cube"), ("sqr", "sqrt")),
            *(("show", "slow"), ("list_files", "lift_files"), ("asin", "sin"), ("", "add")),
        ],
    )
    def test_a_name_of_another_meaning_is_never_proposed(self, made_up: str, other: str) -> None:
        assert ToolCatalog([tool(other)]).nearest(made_up) == []

    def test_an_empty_catalogue_says_that_it_is(self) -> None:
        empty = ToolCatalog([])
        assert len(empty) == 0
        with pytest.raises(CallRefused, match=r"there is no tool 'add' \(no tools are on offer\)"):
            empty.resolve("add")

    def test_what_is_no_text_is_no_name(self) -> None:
        assert 5 not in self.catalog
        assert None not in self.catalog

    def test_plans_write_the_bare_identifier_unless_it_is_shared(self) -> None:
        assert [self.catalog.plan_name(spec) for spec in self.catalog] == [
            "add",
            "web.fetch",
            "files.fetch",
            "read_file",
            "import_",
        ]
        assert [spec.name for spec in self.catalog if self.catalog.is_ambiguous(spec)] == [
            "fetch",
            "fetch",
        ]


class TestNamesThatCollide:
    def test_two_tools_of_one_server_with_one_identifier_stay_two(self) -> None:
        """The name that is an identifier keeps it, whatever the order; the other is numbered."""
        dash, line = tool("a-b"), tool("a_b")
        for tools in ([dash, line], [line, dash]):
            catalog = ToolCatalog(tools)
            assert catalog.resolve("a_b").name == "a_b"
            assert catalog.resolve("a-b").name == "a-b"
            assert catalog.resolve("a_b_2").name == "a-b"
            assert catalog.resolve("math.a_b_2").name == "a-b"
            assert {spec.name: catalog.plan_name(spec) for spec in catalog} == {
                "a_b": "a_b",
                "a-b": "a_b_2",
            }
            assert not any(catalog.is_ambiguous(spec) for spec in catalog)

    def test_a_number_that_is_taken_is_skipped(self) -> None:
        catalog = ToolCatalog([tool("a-b"), tool("a b"), tool("a_b_2"), tool("a_b")])
        assert [catalog.plan_name(spec) for spec in catalog] == ["a_b_3", "a_b_4", "a_b_2", "a_b"]

    def test_a_tool_given_without_its_alias_is_recognised(self) -> None:
        original = tool("a-b")
        catalog = ToolCatalog([original, tool("a_b")])
        assert catalog.plan_name(original) == "a_b_2"
        assert not catalog.is_ambiguous(original)

    def test_an_alias_stays_when_fewer_tools_are_offered(self) -> None:
        every = ToolCatalog([tool("a-b"), tool("a_b")])
        fewer = ToolCatalog([every.resolve("a-b")])
        assert fewer.plan_name(fewer.resolve("a-b")) == "a_b_2"

    def test_equal_identifiers_on_two_servers_are_told_apart_by_server(self) -> None:
        catalog = ToolCatalog([tool("a-b", "one"), tool("a_b", "two")])
        assert [catalog.plan_name(spec) for spec in catalog] == ["one.a_b", "two.a_b"]
        assert catalog.resolve("a-b").server == "one"
        with pytest.raises(CallRefused, match=r"say one\.a-b or two\.a_b"):
            catalog.resolve("a_b")

    def test_a_name_shared_beside_an_alias_is_still_ambiguous(self) -> None:
        catalog = ToolCatalog([tool("a-b", "one"), tool("a_b", "one"), tool("a-b", "two")])
        with pytest.raises(CallRefused, match="several servers"):
            catalog.resolve("a-b")
        assert [catalog.is_ambiguous(spec) for spec in catalog] == [True, True, True]
        names = [catalog.plan_name(spec) for spec in catalog]
        assert names == ["one.a_b_2", "one.a_b", "two.a_b"]

    def test_a_server_that_lists_a_name_twice_offers_the_first(self) -> None:
        first, second = tool("find", a="number"), tool("find", b="string")
        catalog = ToolCatalog([first, second])
        assert list(catalog) == [first]
        assert catalog.resolve("find") is first

    def test_a_tool_called_like_a_server_makes_room_where_that_server_must_be_named(self) -> None:
        """Both `tools.search(…)` and `tools.search.fetch(…)` can't be."""
        search, fetch = tool("search", "search"), tool("fetch", "search")
        alone = ToolCatalog([search, fetch])
        assert [alone.plan_name(spec) for spec in alone] == ["search", "fetch"]
        shared = ToolCatalog([search, fetch, tool("fetch", "web")])
        assert [shared.plan_name(spec) for spec in shared] == [
            "search.search",
            "search.fetch",
            "web.fetch",
        ]
        assert shared.resolve("search") is search

    def test_a_dotted_name_means_server_and_tool_first(self) -> None:
        catalog = ToolCatalog([tool("math.add", "proxy"), tool("add", "math")])
        assert catalog.resolve("math.add").server == "math"
        assert catalog.resolve("proxy.math.add").server == "proxy"
        assert catalog.resolve("math_add").server == "proxy"


NAMES = st.sampled_from(["a-b", "a_b", "a b", "a.b", "a_b_2", "A-b", "if", "if_", "", "-", "é"])
SERVERS = st.sampled_from(["s", "t", "a_b"])


@given(st.lists(st.tuples(SERVERS, NAMES), max_size=8))
def test_every_tool_can_be_called_by_the_name_that_plans_are_shown(
    names: list[tuple[str, str]],
) -> None:
    catalog = ToolCatalog(tool(name, server) for server, name in names)
    assert {spec.qualified_name for spec in catalog} == {f"{s}.{n}" for s, n in names}
    for spec in catalog:
        assert catalog.resolve(catalog.plan_name(spec)) is spec
        assert catalog.resolve(spec.qualified_name) is spec
    shown = {catalog.plan_name(spec) for spec in catalog}
    assert len(shown) == len(catalog)
    assert not shown & {name.partition(".")[0] for name in shown if "." in name}


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("add", "add"),
        ("read-file", "read_file"),
        ("notes/list", "notes_list"),
        ("2fa", "_2fa"),
        ("class", "class_"),
        ("None", "None_"),
        ("match", "match"),
        ("", "_"),
        ("🔥", "_"),
        ("поиск", "поиск"),
        ("搜索", "搜索"),
        ("x²", "x2"),
        ("ﬁnd", "find"),
        ("½", "_1_2"),
        ("__class__", "tool__class__"),
        ("--", "tool__"),
        ("a\x00b\nc", "a_b_c"),
        ("\ud800", "_"),
    ],
)
def test_names_become_identifiers(name: str, identifier: str) -> None:
    assert as_identifier(name) == identifier


@given(st.text(max_size=20))
@example("ⅷ")
@example("·a")
@example("ﬀ²")
@example("ìf")
def test_every_name_becomes_an_identifier_that_python_reads_back(name: str) -> None:
    made = as_identifier(name)
    assert made.isidentifier()
    assert not keyword.iskeyword(made)
    assert not made.startswith("__")
    assert unicodedata.is_normalized("NFKC", made)
    attribute = ast.parse(f"tools.{made}", mode="eval").body
    assert isinstance(attribute, ast.Attribute)
    assert attribute.attr == made
    assert as_identifier(made) == made


def test_a_thousand_names_that_look_the_same_are_all_told_apart() -> None:
    names = [f"a{number:010b}".replace("0", "-").replace("1", "+") for number in range(1000)]
    catalog = ToolCatalog(tool(name) for name in names)
    spelled = [catalog.plan_name(spec) for spec in catalog]
    assert spelled[:2] == ["a__________", "a___________2"]
    assert len(set(spelled)) == len(names)
    assert [catalog.resolve(name).name for name in spelled] == names


class TestOffering:
    known = (tool("find", "web"), tool("find", "docs"), tool("add"), tool("a-b"), tool("a_b"))
    catalog = ToolCatalog(known).offering([known[3], known[1]])

    def test_it_offers_what_it_is_told_in_that_order_and_knows_the_rest(self) -> None:
        assert [t.qualified_name for t in self.catalog] == ["math.a-b", "docs.find"]
        assert (len(self.catalog), self.catalog.left_out) == (2, 3)
        assert len(self.catalog.known) == 5
        assert self.catalog.offers(self.known[1])
        assert not self.catalog.offers(self.known[2])

    def test_names_mean_the_same_whatever_is_offered(self) -> None:
        everything = ToolCatalog(self.known)
        names = [everything.plan_name(t) for t in everything]
        assert names == [self.catalog.plan_name(t) for t in self.catalog.known]
        assert self.catalog.resolve("a_b_2").name == "a-b"
        with pytest.raises(CallRefused, match=r"say web\.find or docs\.find"):
            self.catalog.resolve("find")

    def test_a_tool_that_is_not_offered_is_refused_with_how_to_find_it(self) -> None:
        assert "add" not in self.catalog
        assert self.catalog.get("add") is None
        assert self.catalog.lookup("add") is not None
        assert self.catalog.has_name("add")
        with pytest.raises(CallRefused) as caught:
            self.catalog.resolve("web.find")
        assert str(caught.value) == (
            "'web.find' exists but was not offered to this plan; find it first: "
            'await search_tools("web find")'
        )

    def test_only_tools_on_offer_are_proposed_and_strangers_are_no_tools(self) -> None:
        with pytest.raises(CallRefused, match=r"there is no tool 'addd'$"):
            self.catalog.resolve("addd")
        assert len(self.catalog.offering([tool("stranger")])) == 0


class TestNamesThatPose:
    def test_a_name_like_that_of_anothers_tool_never_means_the_one_that_poses(self) -> None:
        """Not even when the other server has no such tool any more."""
        catalog = ToolCatalog([tool("files.read", "evil"), tool("list", "files")])
        with pytest.raises(CallRefused, match=r"there is no tool 'files\.read'"):
            catalog.resolve("files.read")
        for name in ("evil.files.read", "evil.files_read", "files_read"):
            assert catalog.resolve(name).qualified_name == "evil.files.read"

    def test_a_name_with_a_dot_that_is_no_servers_stays_a_name(self) -> None:
        catalog = ToolCatalog([tool("admin.list", "files"), tool("files.list", "files")])
        assert catalog.resolve("admin.list").qualified_name == "files.admin.list"
        assert catalog.resolve("files.list").qualified_name == "files.files.list"

    def test_an_alias_is_a_name_that_a_plan_can_write_too(self) -> None:
        """Two underscores in front would hide it: the prelude leaves such names out."""
        catalog = ToolCatalog([tool("_", "s"), tool("😀", "s")])
        assert [catalog.plan_name(one) for one in catalog] == ["_", "tool__2"]


MAIL = [
    *(tool(name, "mail") for name in ("delete_email", "send_email", "set_status", "lock_mailbox")),
    *(tool(name, "github") for name in ("github_delete_issue", "github_close_issue")),
    *(replace(tool(name, "disk"), read_only=True) for name in ("list_disks", "readme")),
    *(tool(name, "disk") for name in ("mount_disks", "enlist_disk", "addDisk")),
]


@pytest.mark.parametrize(
    "name",
    [
        *("read_email", "get_email", "select_email", "mail.read_email", "fetchEmail", "see_email"),
        *("get_status", "look_mailbox", "github_read_issue", "github.get_issue", "count_disks"),
        *(
            "list_disk",
            "find_disks",
            "readDisk",
            "mail.emails",
            "list_mailbox",
            "github_list_issue",
        ),
    ],
)
def test_no_hint_leads_from_reading_to_changing(name: str) -> None:
    catalog = ToolCatalog(MAIL)
    with pytest.raises(CallRefused) as caught:
        catalog.resolve(name)
    hint = str(caught.value).partition(name)[2]
    assert not [each.name for each in MAIL if not each.read_only and each.name in hint]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("sendd_email", "send_email"), ("sendEmail", "send_email"), ("add_disk", "addDisk")),
    ],
)
def test_a_slip_leads_to_the_tool_of_the_same_action(name: str, meant: str) -> None:
    with pytest.raises(CallRefused, match=rf"did you mean .*{meant}"):
        ToolCatalog(MAIL).resolve(name)
