"""A real Pi that hides parts of its programming interface from the extension, as its kin lack them: all else works."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pi.host import NEWEST, Host, find_pi
from ullage.testing import FakeProvider, run_in_thread

pytestmark = pytest.mark.slow

TOOL = "Please use the tool: list the files of this folder."
MARKED = "[ullage:local-only]MARK-SECRET[/ullage:local-only]"

PROVIDER = ("pi.registerVirtualModel", "pi.registerProvider")
SYSTEM = ("pi.on.context_with_system",)
ENTRIES = ("pi.appendEntry", "sessionManager.getLabel", "sessionManager.getBranch", "sessionManager.getHeader")
PANEL = ("sessionManager.buildSessionContext", "ctx.mode", "ui.setWidget", "ui.getToolsExpanded")
SCREEN = ("ui.setStatus", "ui.select", "pi.getSettings", "pi.getCommands", "pi.on.model_select")
CONTEXT = ("ctx.isProjectTrusted", "ctx.getContextUsage", "ctx.scopedModels", "ctx.getSystemPrompt", "ctx.abort")
TOOLS = ("pi.getActiveTools", "pi.getAllTools", "pi.setModel", "pi.setThinkingLevel", "pi.getThinkingLevel")

WRAPPER = """
import ullage from "./ours.ts";

const HIDDEN = new Set(%s);

/** `host` without what is hidden below this name. */
function without(host, name) {
	return new Proxy(host, {
		has: (target, key) => !HIDDEN.has(`${name}.${String(key)}`) && key in target,
		get(target, key) {
			if (HIDDEN.has(`${name}.${String(key)}`)) return undefined;
			const value = target[key];
			if (name === "pi" && key === "on") {
				return (event, handler) => {
					if (HIDDEN.has(`pi.on.${event}`)) return;
					value.call(target, event, (told, ctx) => handler(told, without(ctx, "ctx")));
				};
			}
			if (name === "pi" && key === "registerCommand") {
				return (command, given) =>
					value.call(target, command, { ...given, handler: (args, ctx) => given.handler(args, without(ctx, "ctx")) });
			}
			if (key === "ui" || key === "sessionManager") return without(value, key);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}

export default (pi) => ullage(without(pi, "pi"));
"""


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with run_in_thread(FakeProvider(strict=True)) as running:
        yield running


@pytest.fixture
def host(provider: FakeProvider, tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path / "pi", find_pi(NEWEST), provider.url, settings="[privacy]\nenabled = true\n")
    yield made
    made.stop()


@pytest.mark.parametrize(
    "hidden",
    [
        PROVIDER[:1],
        PROVIDER,
        SYSTEM,
        ENTRIES,
        PANEL,
        SCREEN,
        CONTEXT,
        TOOLS,
        (*PROVIDER, *SYSTEM, *ENTRIES, *PANEL, *SCREEN, *CONTEXT, *TOOLS),
    ],
    ids=[
        "models that stand for others",
        "providers",
        "prompt",
        "entries",
        "panel",
        "screen",
        "context",
        "tools",
        "all",
    ],
)
def test_what_a_host_lacks_takes_nothing_else_away(host: Host, provider: FakeProvider, hidden: tuple[str, ...]) -> None:
    ours = host.agent / "extensions" / "ullage"
    (ours / "index.ts").rename(ours / "ours.ts")
    (ours / "index.ts").write_text(WRAPPER % json.dumps(hidden))
    routes = PROVIDER[1] not in hidden
    with host.open("--model", "ullage/auto" if routes else "anthropic/anthropic-model") as pi:
        pi.ask("prompt", message=f"{TOOL} {MARKED}")
        assert pi.ask("set_model", provider="anthropic", modelId="anthropic-other")["success"]
        pi.ask("prompt", message=f"{TOOL} {MARKED}")
        told = [notice for notice in pi.notices if "routing is off" not in notice]
        assert "Pinned" in pi.type("/context pin MARK-PIN Never push.")
        assert "newest request" in pi.type("/context")
        pi.ask("prompt", message="And now?")
        assert not pi.errors
    assert len(told) <= 1
    sent = [one.body.decode() for one in provider.requests]
    assert len(sent) == 5
    assert not any("MARK-SECRET" in body for body in sent)
    host.stop()
    assert host.newest_session()["calls"] == 5
