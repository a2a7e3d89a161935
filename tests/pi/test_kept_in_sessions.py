"""A real Pi that opens a session with labels and entries of DS4: what they keep is sent, and they stay as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.pi.conftest import Make
from tests.pi.host import NEWEST, OLDER, Host
from ullage.testing import FakeProvider

pytestmark = pytest.mark.slow

MODEL = "anthropic/anthropic-model"
SMALL = """
mode = "managed"
[models.overrides."*"]
context_window = 12000
max_output_tokens = 100
safety_margin_tokens = 0
"""
TIME = "2026-06-01T10:00:00.000Z"
USAGE = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0)
COST = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
LABELLER = """
export default (pi) => {
    const entry = (ctx, mark) => ctx.sessionManager.getEntries().find((one) => JSON.stringify(one.message ?? "").includes(mark));
    pi.registerCommand("mark", {
        handler: async (args, ctx) => {
            const [mark, ...label] = args.split(" ");
            pi.setLabel(entry(ctx, mark).id, label.join(" ") || undefined);
            ctx.ui.notify("marked", "info");
        },
    });
    pi.registerCommand("leave", {
        handler: async (args, ctx) => {
            const [type, data] = JSON.parse(args);
            pi.appendEntry(type, data);
            ctx.ui.notify("left", "info");
        },
    });
    pi.registerCommand("go", {
        handler: async (args, ctx) => {
            await ctx.navigateTree(entry(ctx, args).id, { summarize: false });
            ctx.ui.notify("went", "info");
        },
    });
};
"""


class SessionFile:
    """A session as Pi writes it, one entry behind the other."""

    def __init__(self, host: Host) -> None:
        self.path = host.folder / "2026-06-01T10-00-00-000Z_11111111-2222-7333-8444-555555555555.jsonl"
        head = {"type": "session", "version": 3, "id": "11111111-2222-7333-8444-555555555555", "timestamp": TIME}
        self._lines: list[dict[str, Any]] = [{**head, "cwd": str(host.project)}]
        self._moment = 1_780_000_000_000

    def add(self, kind: str, **more: Any) -> str:
        name = f"{len(self._lines):08x}"
        parent = self._lines[-1]["id"] if len(self._lines) > 1 else None
        self._lines.append({"type": kind, "id": name, "parentId": parent, "timestamp": TIME, **more})
        return name

    def turn(self, text: str, answer: str = "Yes.") -> str:
        """A turn; the id of its answer."""
        self._moment += 1_000
        said = [{"type": "text", "text": text}]
        self.add("message", message={"role": "user", "content": said, "timestamp": self._moment})
        message = {
            "role": "assistant",
            "content": [{"type": "text", "text": answer}],
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": "anthropic-model",
            "usage": {**USAGE, "cost": COST},
            "stopReason": "stop",
            "timestamp": self._moment + 500,
        }
        return self.add("message", message=message)

    def ds4(self, kind: str, operation: str, **said: Any) -> None:
        data = {"schemaVersion": 1, "mutationId": f"m-{len(self._lines)}", "createdAt": len(self._lines)}
        self.add("custom", customType=f"ds4-context-{kind}-v1", data={**data, "operation": operation, **said})

    def pin(self, name: str, text: str, scope: str = "session", **more: Any) -> None:
        self.ds4("pin", "add", item={"id": name, "scope": scope, "content": text, "createdAt": 1, **more})

    def write(self) -> str:
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self._lines))
        return str(self.path)


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_what_labels_and_ds4_keep_in_a_session_is_sent_and_its_lines_stay(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings=SMALL)
    file = SessionFile(host)
    answered = file.turn("MARK-LABELLED question", "MARK-ANSWER")
    bookmark = file.turn("MARK-BOOKMARK")
    file.turn(f"MARK-FILLER {'word ' * 12_000}")
    file.add("label", targetId=bookmark, label="ds4:pinned not")
    file.add("label", targetId=answered, label="a bookmark")
    file.add("label", targetId=answered, label="ds4:pin the rule")
    file.pin("p1", "MARK-SESSION-PIN Never push.")
    file.pin("p2", "MARK-ELSEWHERE", "project", projectPath="/elsewhere")
    file.pin("p3", "MARK-OFF-BRANCH", "branch", branchLeafId="ffffffff")
    file.pin("p4", "MARK-BRANCH-PIN", "branch", branchLeafId=bookmark)
    file.pin("p5", "MARK-DELETED")
    file.ds4("pin", "status", pinId="p5", status="deleted", reason="over")
    claim = {"id": "m1", "scope": "session", "claim": "MARK-CLAIM = vitest", "createdAt": 1, "sourceEntryIds": []}
    file.ds4("memory", "add", item=claim)
    path = file.write()
    before = file.path.read_text()
    host.run("-p", "--session", path, "--model", MODEL, "Now what of MARK-CLAIM?")
    sent = provider.requests[-1].body.decode()
    kept = ("MARK-LABELLED", "MARK-ANSWER", "MARK-SESSION-PIN", "MARK-BRANCH-PIN", "vitest")
    left = ("MARK-BOOKMARK", "MARK-FILLER", "MARK-ELSEWHERE", "MARK-OFF-BRANCH", "MARK-DELETED")
    assert [mark for mark in kept if mark not in sent] == []
    assert [mark for mark in left if mark in sent] == []
    after = file.path.read_text()
    assert after.startswith(before) and "ullage.kept" not in after
    host.stop()
    rows = host.newest_manifest()["plan"]["included"]
    assert [one["reason"] for one in rows] == ["labelled-pin", "labelled-pin", "current"]
    host.run("-p", "--session", path, "--model", MODEL, "And now?")
    again = provider.requests[-1].body.decode()
    assert again.count("MARK-SESSION-PIN") == 1 and "ullage.kept" not in file.path.read_text()
    shown = host.run("-p", "--session", path, "/context pins").stdout
    (line,) = [line for line in shown.splitlines() if "MARK-SESSION-PIN" in line]
    host.run("-p", "--session", path, f"/context unpin {line.split()[0]}")
    host.run("-p", "--session", path, "--model", MODEL, "And now?")
    assert "MARK-SESSION-PIN" not in provider.requests[-1].body.decode()
    assert file.path.read_text().count("ullage.kept") == 1


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_labels_and_places_on_the_branch_count_from_the_next_request_on(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings=SMALL)
    (host.agent / "extensions" / "labeller.ts").write_text(LABELLER)
    file = SessionFile(host)
    file.turn("MARK-FIRST question", "MARK-FIRST-ANSWER")
    leaf = file.turn("MARK-SECOND question")
    file.turn(f"MARK-FILLER {'word ' * 12_000}")
    file.pin("p4", "MARK-BRANCH-PIN", "branch", branchLeafId=leaf)
    with host.open("--session", file.write(), "--model", MODEL) as pi:

        def ask(text: str) -> str:
            pi.ask("prompt", message=text)
            return provider.requests[-1].body.decode()

        assert "MARK-FIRST" not in ask("One.")
        pi.type("/mark MARK-FIRST ullage:pin")
        sent = ask("Two.")
        assert "MARK-FIRST question" in sent and "MARK-FIRST-ANSWER" in sent and "MARK-BRANCH-PIN" in sent
        assert "MARK-FIRST question" in ask("Three.")
        pi.type("/mark MARK-FIRST")
        assert "MARK-FIRST" not in ask("Four.")
        item = {"id": "p9", "scope": "session", "content": "MARK-BESIDE", "createdAt": 9}
        change = {"schemaVersion": 1, "mutationId": "m9", "createdAt": 9, "operation": "add", "item": item}
        pi.type(f"/leave {json.dumps(['ds4-context-pin-v1', change])}")
        assert "MARK-BESIDE" in ask("Five.")
        pi.type("/go MARK-FIRST-ANSWER")
        sent = ask("Six.")
        assert "MARK-BRANCH-PIN" not in sent and "MARK-BESIDE" in sent
        assert not pi.notices


@pytest.mark.parametrize("version", [NEWEST, OLDER[0]])
def test_what_is_for_a_project_is_taken_where_pi_trusts_its_folder(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings='mode = "managed"\n')
    (host.project / ".pi" / "extensions").mkdir(parents=True)
    (host.project / ".pi" / "settings.json").write_text("{}")
    file = SessionFile(host)
    file.turn("One.")
    file.pin("p1", "MARK-PROJECT-PIN", "project", projectPath=str(host.project.resolve()))
    path = file.write()
    for more, sent in (("--no-approve", False), ("--approve", True)):
        host.run("-p", more, "--session", path, "--model", MODEL, "Two.")
        assert ("MARK-PROJECT-PIN" in provider.requests[-1].body.decode()) is sent


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_label_on_a_summary_or_on_a_message_of_an_extension_keeps_it_for_a_routed_model_as_well(
    make: Make, provider: FakeProvider, version: str
) -> None:
    settings = SMALL.replace("12000", "16000").replace("output_tokens = 100", "output_tokens = 4096")
    host = make(version, settings=settings)
    file = SessionFile(host)
    file.turn("MARK-COMPACTED")
    kept = file.turn("MARK-KEPT")
    summary = file.add("compaction", summary="MARK-SUMMARY", firstKeptEntryId=kept, tokensBefore=1_000)
    note = file.add("custom_message", customType="note", content="MARK-NOTE", display=False)
    file.turn(f"MARK-FILLER {'word ' * 14_000}")
    for entry in (summary, note):
        file.add("label", targetId=entry, label="ds4:pin")
    host.run("-p", "--session", file.write(), "--model", "ullage/auto", "Now what?")
    sent = provider.requests[-1].body.decode()
    assert [mark for mark in ("MARK-SUMMARY", "MARK-NOTE") if mark not in sent] == []
    assert [mark for mark in ("MARK-COMPACTED", "MARK-FILLER") if mark in sent] == []
