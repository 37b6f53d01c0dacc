"""What `--help` of the commands says; `agent.py` stands for the program's name."""

from typing import Literal, TypeAlias

Action: TypeAlias = Literal["list", "tools", "status", "add", "remove", "test", "logs"]

MCP_HELP = """\
MCP servers, by hand. They come from the profile's mcp_servers, from config/mcp.json under
CORTEX_HOME, and from files given with --mcp-config; of two with one name the first counts.

examples:
  agent.py mcp list
  agent.py mcp add time -- uvx mcp-server-time
  agent.py mcp test time
  agent.py mcp tools time"""

ACTION_HELP: dict[Action, tuple[str, str]] = {
    "list": (
        "every configured server; starts none",
        """\
examples:
  agent.py mcp list
  agent.py mcp list --json | jq '.[].id'""",
    ),
    "tools": (
        "the tools, as the planner sees them",
        """\
Servers whose tools are not cached are started. With --verbose each tool is shown with all
that is known of its arguments.

examples:
  agent.py mcp tools
  agent.py mcp tools math --verbose""",
    ),
    "status": (
        "start every server and say how each fares",
        """\
Exits with 1 if one failed.

examples:
  agent.py mcp status
  agent.py mcp status --json | jq '.[] | select(.state == "failed")'""",
    ),
    "add": (
        "keep a server in config/mcp.json",
        """\
Values may hold ${VAR}, which is read from the environment at each start: in single quotes
the shell leaves it alone, and no secret ends in the file.

examples:
  agent.py mcp add time --env TZ=Europe/Vienna -- uvx mcp-server-time
  agent.py mcp add docs --url https://example.com/mcp --header 'Authorization: Bearer ${KEY}'""",
    ),
    "remove": (
        "take a server out of config/mcp.json",
        """\
examples:
  agent.py mcp remove time""",
    ),
    "test": (
        "start one server, list its tools, ping it",
        """\
Tells each step on stderr and a verdict on stdout; exits with 1, and the end of the server's
log, where it fails. A disabled server can be tried too.

examples:
  agent.py mcp test time""",
    ),
    "logs": (
        "the end of what a server wrote to stderr",
        """\
examples:
  agent.py mcp logs time -n 100
  agent.py mcp logs time --follow""",
    ),
}
"""What an action does, as a summary and as the rest of its help."""

CALL_HELP = """\
Call one tool, with no model involved. Only the server that has it is started.

A value of key=value is read by the tool's schema: as a number, true or false, JSON where an
array or object belongs, else as text. key:=JSON is JSON whatever the schema says.

The result goes to stdout: text as it is, anything else as JSON; of an image or a sound a line
that describes it, and --output writes it. With --json it is one object: tool, ok, is_error,
value, content, structured, seconds, omitted_bytes, error.

examples:
  agent.py call add a=5 b=7
  agent.py call math.int_list_to_exponential_sum numbers='[73, 78]'
  agent.py call add --input '{"a": 5, "b": 7}'
  echo '{"a": 5, "b": 7}' | agent.py call add --input - --json | jq .value"""
