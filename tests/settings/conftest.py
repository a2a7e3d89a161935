"""What tests of settings share: a folder with a user's and a project's file in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ullage.settings import Loaded, load_settings

if TYPE_CHECKING:
    from pathlib import Path


class Files:
    """The two files, and one call that loads the settings there. Problems are told without the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = folder / ".config" / "ullage" / "config.toml"
        self.project = folder / ".ullage.toml"
        self.user.parent.mkdir(parents=True)

    def load(self, user: str = "", project: str = "", **variables: str) -> Loaded:
        self.user.write_text(user)
        self.project.write_text(project)
        return load_settings(environ={"HOME": str(self.folder), **variables}, cwd=self.folder)

    def problems(self, user: str = "", project: str = "", **variables: str) -> list[str]:
        told = self.load(user, project, **variables).problems
        return [
            str(problem).replace(str(self.user), "config.toml").replace(str(self.project), ".ullage.toml")
            for problem in told
        ]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)
