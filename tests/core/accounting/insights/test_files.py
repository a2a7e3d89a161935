"""Which call read or changed which file, for the tools of every client that we know."""

from __future__ import annotations

import pytest

from ullage.core.accounting.insights.files import Span, find_touches

from .conversations import ask, give

TEXT = "some lines of a file"


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("Read", {"file_path": "/w/a.py"}, ("read", "/w/a.py", Span())),
        ("Read", {"file_path": "/w/a.py", "offset": 20, "limit": 60}, ("read", "/w/a.py", Span(20, 79))),
        ("read", {"path": "a.py"}, ("read", "/project/a.py", Span())),
        ("read", {"path": "/w/./x/../a.py:788-822"}, ("read", "/w/a.py", Span(788, 822))),
        ("read", {"path": "a.py:12"}, ("read", "/project/a.py", Span(12, 12))),
        ("read", {"path": "https://example.org//x"}, ("read", "https://example.org//x", Span())),
        ("read", {"path": "~/a.py"}, ("read", "~/a.py", Span())),
        ("read", {"path": r"C:\w\a.py"}, ("read", "C:/w/a.py", Span())),
        ("read_file", {"absolute_path": "/w/a.py"}, ("read", "/w/a.py", Span())),
        ("read_file", {"target_file": "a.py", "start_line": 3, "end_line": 9}, ("read", "/project/a.py", Span(3, 9))),
        ("mcp__files__read_text_file", {"path": "/w/a.py"}, ("read", "/w/a.py", Span())),
        ("functions.read", {"filePath": "/w/a.py", "offset": 0}, ("read", "/w/a.py", Span())),
        ("str_replace_editor", {"command": "view", "path": "/w/a.py"}, ("read", "/w/a.py", Span())),
        (
            "str_replace_editor",
            {"command": "view", "path": "/w/a.py", "view_range": [5, 9]},
            ("read", "/w/a.py", Span(5, 9)),
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "view", "path": "/w/a.py", "view_range": [5, -1]},
            ("read", "/w/a.py", Span(5)),
        ),
        ("str_replace_editor", {"command": "create", "path": "/w/a.py"}, ("write", "/w/a.py", Span())),
        ("str_replace_editor", {"command": "insert", "path": "/w/a.py"}, ("edit", "/w/a.py", Span())),
        ("Write", {"file_path": "/w/a.py", "content": "x"}, ("write", "/w/a.py", Span())),
        ("MultiEdit", {"file_path": "/w/a.py", "edits": []}, ("edit", "/w/a.py", Span())),
        ("replace", {"file_path": "/w/a.py"}, ("edit", "/w/a.py", Span())),
        ("Bash", {"command": "cat a.py"}, ("read", "/project/a.py", Span())),
        ("bash", {"command": "cd src && cat -n 'a b.py'"}, ("read", "/project/src/a b.py", Span())),
        (
            "exec_command",
            {"cmd": "sed -n '1,220p' a.py", "workdir": "/home/me"},
            ("read", "/home/me/a.py", Span(1, 220)),
        ),
        ("shell", {"command": ["bash", "-lc", "head -n 20 a.py"]}, ("read", "/project/a.py", Span(1, 20))),
        ("shell", {"command": ["bash", "-lc", "nl -ba a.py | sed -n '3,7p'"]}, ("read", "/project/a.py", Span(3, 7))),
    ],
)
def test_the_tools_of_known_clients(tool: str, arguments: dict[str, object], found: tuple[str, str, Span]) -> None:
    [touch] = find_touches([ask(tool, **arguments), give(TEXT)], "/project")
    assert (touch.action, touch.path, touch.span) == found
    assert (touch.message, touch.result, touch.tool, touch.result_chars) == (0, (1, 0), tool, len(TEXT))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "cat a.py b.py"}),
        ("Bash", {"command": "cat a.py | grep x"}),
        ("Bash", {"command": "cat $FILE"}),
        ("Bash", {"command": "cat > a.py <<EOF\nx\nEOF"}),
        ("Bash", {"command": "ls"}),
        ("Bash", {"command": 7}),
        ("Grep", {"path": "/w", "pattern": "x"}),
        ("telegram_send", {"path": "/w/a.py"}),
        ("str_replace_editor", {"command": "dance", "path": "/w/a.py"}),
        ("read", {"path": 7}),
        ("read", {"raw": "no json {"}),
        ("read", {"raw": ""}),
        ("read", {"raw": "[1]"}),
    ],
)
def test_other_calls_touch_no_file(tool: str, arguments: dict[str, object]) -> None:
    assert find_touches([ask(tool, **arguments), give(TEXT)], "/project") == []


def test_a_patch_touches_each_of_its_files() -> None:
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: /w/b.py\n@@\n-x\n+y\n*** Delete File: c.py\n*** End Patch"
    touches = find_touches([ask("apply_patch", raw=patch), give("Done")], "/project")
    assert [(touch.action, touch.path) for touch in touches] == [
        ("write", "/project/a.py"),
        ("edit", "/w/b.py"),
        ("write", "/project/c.py"),
    ]


def test_a_script_that_calls_one_shell_command_is_read_like_it() -> None:
    script = 'const r = await tools.exec_command({"cmd":"sed -n \'1,20p\' a.py","workdir":"/home/me"}); text(r.output);'
    [touch] = find_touches([ask("exec", raw=script), give(TEXT)], "/project")
    assert (touch.path, touch.span) == ("/home/me/a.py", Span(1, 20))
    assert find_touches([ask("exec", raw=script + script), give(TEXT)], "/project") == []


def test_a_failed_call_and_one_without_a_result_do_not_count() -> None:
    assert find_touches([ask("read", path="a.py"), give("no such file", failed=True)]) == []
    assert find_touches([ask("read", path="a.py")]) == []


def test_without_a_folder_a_relative_path_stays_one() -> None:
    [touch] = find_touches([ask("read", path="./a.py"), give(TEXT)])
    assert touch.path == "a.py"


def test_lines_cover_lines_within_them() -> None:
    assert Span().covers(Span(5, 9))
    assert Span(5, 9).covers(Span(5, 9))
    assert not Span(5, 9).covers(Span(5))
    assert not Span(5, 9).covers(Span(4, 9))
    assert not Span(5).covers(Span())
