"""Folders of the user, as the XDG Base Directory Specification has them."""

from __future__ import annotations

from pathlib import Path

from ullage.settings.paths import find_paths


def test_without_variables_the_folders_lie_in_the_home_folder(tmp_path: Path) -> None:
    paths = find_paths({"HOME": "/home/me"}, cwd=tmp_path)
    assert paths.user_file == Path("/home/me/.config/ullage/config.toml")
    assert paths.data_dir == Path("/home/me/.local/share/ullage")
    assert paths.cache_dir == Path("/home/me/.cache/ullage")
    assert paths.project_file is None


def test_variables_move_the_folders(tmp_path: Path) -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/e"}
    paths = find_paths(environ, cwd=tmp_path)
    assert (paths.config_dir, paths.data_dir, paths.cache_dir) == (
        Path("/c/ullage"),
        Path("/d/ullage"),
        Path("/e/ullage"),
    )


def test_a_relative_variable_is_ignored(tmp_path: Path) -> None:
    assert find_paths({"HOME": "/h", "XDG_DATA_HOME": "data"}, cwd=tmp_path).data_dir == Path("/h/.local/share/ullage")
