"""The examples of `docs/how-to/sdks.md` run as they stand, but for the port."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

if TYPE_CHECKING:
    from ullage.core.wire import Dialect

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "sdks.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split()[1])
async def test_an_example_runs_and_its_session_has_the_name_it_gives(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, "any")
    async with FakeProvider() as provider:
        upstreams = dict.fromkeys(DIALECTS, provider.url)
        async with run_gateway(upstreams, tmp_path) as gateway:
            printed = await run_python(example.replace("http://127.0.0.1:8484", gateway.url))
            await asyncio.to_thread(gateway.engine.flush)
            sessions = [session.id for session in gateway.store.sessions()]
    assert "Hello." in printed
    assert sessions == ["my-program"]
    assert provider.requests[0].header("x-ullage-session") is None


async def run_python(source: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", source, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()
