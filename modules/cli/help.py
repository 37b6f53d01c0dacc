"""What `--help` of the commands says; `agent.py` stands for the program's name."""

from typing import Literal, TypeAlias

Action: TypeAlias = Literal[
    "list", "tools", "status", "add", "remove", "enable", "disable", "test", "logs"
]

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
  agent.py mcp add docs --url https://example.com/mcp --header 'Authorization: Bearer ${KEY}'
  agent.py mcp add big --timeout 300 -- docker run -i --rm example/mcp-server""",
    ),
    "remove": (
        "take a server out of config/mcp.json",
        """\
examples:
  agent.py mcp remove time""",
    ),
    "enable": (
        "switch a server on again; one that was set aside is brought back",
        """\
A server that fails to start is left alone for a minute, after a second failure for ten; after
three in a row it is set aside, until it is enabled, its entry changes, or `mcp test` works.

examples:
  agent.py mcp enable time""",
    ),
    "disable": (
        "switch a server off, and keep it in config/mcp.json",
        """\
examples:
  agent.py mcp disable time
  agent.py mcp list""",
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

RUN_PLAN_HELP = """\
Run a plan by hand: checked, repaired and run in the sandbox as a model's plan would be, with the
limits of the profile. No model is asked, and nothing is kept. A plan is Python with a solve():

  async def solve():
      total = await tools.add(a=5, b=7)
      return f"FINAL_ANSWER: {total}"

Servers are started where the plan may call tools; --tools offers those of some servers only. A call
of a tool that may change something waits for your yes, and is refused where nobody is there to say
it, but for tools named by --approve.

The answer goes to stdout, without its prefix; so does text for FURTHER_PROCESSING_REQUIRED:, and
any other value, with a note on stderr. Repairs, tool calls, what the plan prints and why it failed
go to stderr. With --json it is one object, also of a plan that failed: ok, verdict (final_answer,
further_processing, value or null), answer, value, printed, calls, repairs, failure (kind,
message, line, text), seconds, exit_code.

Exits with 0 for an answer, 3 for a plan that failed or returned nothing, 1 where that was the
doing of a server or of the sandbox, 2 for a file that is no plan.

examples:
  agent.py run-plan plan.py
  agent.py run-plan plan.py --tools math --json | jq .answer
  agent.py run-plan plan.py --approve files.write_file
  agent.py run-plan - < plan.py"""

PROMPT_HELP = """\
Show what a model would be sent for a request, to the letter: the prompts of the first step, each
as the two messages that chat models get. No model is asked, no tool is called, nothing is kept.

What is above the user message is the same for every request with the same tools, so that
providers' caches hold. Perception's prompt stands first where the profile asks a model for it.
With --json it is one object: model, and requests with purpose, system, user, images, schema and
temperature.

examples:
  agent.py prompt --show "what is 17 times 23?"
  agent.py prompt "what is in @photo.png?" --model gemini
  agent.py prompt "17 times 23" --json | jq -r .requests[0].user"""

DOCTOR_HELP = """\
Say what works here and what doesn't: the sandbox and the walls around it, where files are kept,
the profile, the model that would answer, your documents, the configured servers. Starts no server,
writes no file, and shows whether keys are set, never what they are.

A wall that is missing is a finding; it counts as broken where sandbox.require in the profile
names it. With --json it is one object: ok, exit_code, version, python, platform and checks (area,
name, state, detail, advice; a state is ok, note, missing or broken).

Exits with 0 where all works that is needed, 2 where the configuration has to be corrected, else
1 where something is broken: the sandbox does not start, or a wall is missing that is required.

examples:
  agent.py doctor
  agent.py doctor --json | jq '.checks[] | select(.state != "ok")'"""
