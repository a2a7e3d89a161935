"""The real clients: how each is started once, without a terminal, and where it keeps what it tells the model.

`ullage setup` points them at the gateway; nothing here does. Each is run as its user would
run it, with a made-up key, and with its own switches against talking to anybody else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROMPT = "Please use the tool: list the files of this folder."
"""The fake provider answers `use the tool` with one call of the client's shell, then with what the shell said."""

AGAIN = "And what did I ask you before?"
"""The second prompt, in the session that the first one began. The fake provider repeats it."""

LISTED = "listed-by-the-tool.txt"
"""A file in the project: its name in the answer shows that the tool's result travelled back."""


TARGET_KEY = "MARK-KEY-OF-THE-TARGET"
"""The key of the provider that routed requests go to; clients have another one."""


@dataclass(frozen=True)
class Client:
    """`program` is a path below `.clients`. `{model}` and `{prompt}` stand in `arguments`, and in `again`, which goes on
    with the session that was last.

    Each of `models` is a run of its own, with the header that names its session, if it has one. `instructions` and
    `skill` are where the project keeps what is to show up as context file and as skill.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    again: tuple[str, ...]
    models: Mapping[str, str | None]
    environment: Mapping[str, str] = field(default_factory=dict)
    instructions: str = "AGENTS.md"
    skill: str | None = None
    answer: str = LISTED
    files: Mapping[str, str] = field(default_factory=dict)
    """What the user has in the home folder already; `{url}` is the gateway."""
    set_up: bool = True
    """Whether `ullage setup` knows it."""

    seen_as: str | None = None
    """What the gateway takes it for, if it cannot be told from others."""

    tells_project: bool = True
    """Whether its requests name the folder that it works in."""


BIN = "node_modules/.bin/"

CLIENTS = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            program=BIN + "claude",
            arguments=("-p", "--model", "{model}", "--allowedTools", "Bash(ls:*)", "--", "{prompt}"),
            again=("-p", "-c", "--model", "{model}", "--allowedTools", "Bash(ls:*)", "--", "{prompt}"),
            # The second one takes thinking back only behind what it was made on.
            models=dict.fromkeys(("claude-opus-5", "claude-opus-5-5"), "x-claude-code-session-id"),
            environment={"ANTHROPIC_API_KEY": "any", "DISABLE_AUTOUPDATER": "1"},
            instructions="CLAUDE.md",
            skill=".claude/skills",
        ),
        Client(
            name="codex",
            program=BIN + "codex",
            arguments=("exec", "--skip-git-repo-check", "--model", "{model}", "{prompt}"),
            again=("exec", "--skip-git-repo-check", "--model", "{model}", "resume", "--last", "{prompt}"),
            models={"gpt-5.5": "session-id", "gpt-6.2-sol": "session-id"},
            environment={"OPENAI_API_KEY": "any", "CODEX_API_KEY": "any"},
            skill=".agents/skills",
        ),
        Client(
            name="pi",
            program=BIN + "pi",
            arguments=("-p", "--approve", "--model", "{model}", "{prompt}"),
            again=("-p", "-c", "--approve", "--model", "{model}", "{prompt}"),
            models={
                "openai/gpt-5.5": "session-id",
                "anthropic/claude-opus-5": "x-session-affinity",
                "google/gemini-2.5-pro": None,
            },
            environment={
                "PI_OFFLINE": "1",
                "OPENAI_API_KEY": "any",
                "ANTHROPIC_API_KEY": "any",
                "GEMINI_API_KEY": "any",
            },
            skill=".pi/skills",
        ),
        Client(
            name="opencode",
            program=BIN + "opencode",
            arguments=("run", "--model", "{model}", "{prompt}"),
            again=("run", "--continue", "--model", "{model}", "{prompt}"),
            models={
                "openai/gpt-5.5": "x-session-id",
                "anthropic/claude-opus-5": "x-session-id",
                "google/gemini-2.5-pro": "x-session-id",
            },
            environment={
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENAI_API_KEY": "any",
                "ANTHROPIC_API_KEY": "any",
                "GOOGLE_GENERATIVE_AI_API_KEY": "any",
            },
            skill=".opencode/skills",
        ),
        Client(
            name="gemini-cli",
            program=BIN + "gemini",
            arguments=("--yolo", "--skip-trust", "--model", "{model}", "--prompt", "{prompt}"),
            again=("--yolo", "--skip-trust", "--model", "{model}", "--resume", "latest", "--prompt", "{prompt}"),
            models={"gemini-2.5-pro": None},
            environment={"GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            instructions="GEMINI.md",
            skill=".gemini/skills",
            files={".gemini/settings.json": '{"privacy": {"usageStatisticsEnabled": false}}\n'},
        ),
        Client(
            name="aider",
            program="aider/bin/aider",
            arguments=(
                *("--model", "{model}", "--message", "{prompt}", "--yes-always", "--no-gitignore", "--no-check-update"),
                *("--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable", "--no-pretty"),
            ),
            # It could only restore a history that it has rewritten: a new conversation, for a gateway.
            again=(),
            models={"openai/gpt-5.5": None, "anthropic/claude-opus-5": None},
            environment={"OPENAI_API_KEY": "any", "ANTHROPIC_API_KEY": "any"},
            answer="fake provider",
            tells_project=False,
        ),
        Client(
            name="llm",
            program="llm/bin/llm",
            arguments=("--model", "{model}", "--functions", "tools.py", "{prompt}"),
            again=("--continue", "--model", "{model}", "--functions", "tools.py", "{prompt}"),
            models={"chat": None, "responses": None},
            environment={"LLM_USER_PATH": "{home}/llm"},
            files={
                "llm/keys.json": '{"openai": "any"}\n',
                "llm/extra-openai-models.yaml": (
                    "- {model_id: chat, model_name: gpt-5.5, api_base: '{url}/v1', supports_tools: true}\n"
                    "- {model_id: responses, model_name: gpt-5.5, api_base: '{url}/v1', supports_tools: true, responses: true}\n"
                ),
            },
            set_up=False,
            seen_as="openai-sdk",
            tells_project=False,
        ),
    )
}
