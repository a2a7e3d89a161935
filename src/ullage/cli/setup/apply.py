"""Writing a client's settings and taking them back: everything is worked out before the first byte is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import InputError

from .client import Edit, current_value, read_text
from .files import back_up, write_file
from .formats import FORMATS, UnfitError, shown
from .journal import (
    FileRecord,
    Journal,
    KeyRecord,
    digest_of,
    drop_journal,
    load_journal,
    save_journal,
)

if TYPE_CHECKING:
    from .client import Change, Client, Place
    from .formats import Format

Action = Literal["set", "kept", "restored", "removed", "left"]


class Step(Struct, frozen=True, kw_only=True):
    """What was done to one key, or was found to be so already. `value` is what it holds now, `before` what it held."""

    file: str
    key: str
    action: Action
    value: str | None
    before: str | None = None


class Draft(Struct, frozen=True):
    """One file as it is and as it shall be."""

    edit: Edit
    old: str
    new: str
    keys: list[KeyRecord]


def write(client: Client, place: Place, data_dir: Path) -> list[Step]:
    """Points a client at the gateway. Doing it twice changes nothing.

    Raises `InputError`, with what to paste by hand, for a file that cannot be edited; nothing has been written then.
    """
    journal = load_journal(data_dir, client.name) or Journal(client=client.name, url=place.url, files=[])
    drafts = [draft(edit, journal.find(edit.file)) for edit in client.edits(place)]
    records = {record.file: record for record in journal.files}
    for one in drafts:
        if one.new != one.old:
            records[str(one.edit.file)] = record_of(one, journal.find(one.edit.file))
    if any(one.new != one.old for one in drafts):
        # Before the files: what was written must be known even if this process ends between two of them.
        save_journal(data_dir, replace(journal, url=place.url, files=list(records.values())))
    for one in drafts:
        if one.new != one.old:
            write_file(one.edit.file, one.new)
    return [step for one in drafts for step in steps_of(one)]


def draft(edit: Edit, known: FileRecord | None) -> Draft:
    """One file with all its changes made. Raises `InputError`."""
    try:
        old = new = read_text(edit.file)
        keys = [] if known is None else list(known.keys)
        for change in edit.changes:
            source = wanted_source(edit, new, change)
            if source is not None:
                keys = [record for record in keys if record.key != list(change.key)]
                keys.append(record_key(edit, new, change, source, known))
                new = edit.format.put(new, change.key, source)
        check(edit, new)
    except UnfitError as error:
        raise cannot_edit(edit, error) from error
    return Draft(edit, old, new, keys)


def wanted_source(edit: Edit, text: str, change: Change) -> str | None:
    """The source that a change puts in; `None` if the file is as it should be."""
    value = current_value(edit, text, change)
    if value == change.value or (change.optional and value is not None):
        return None
    return edit.format.quote(change.value)


def record_key(edit: Edit, text: str, change: Change, source: str, known: FileRecord | None) -> KeyRecord:
    """What to remember of a key: what it was before we first touched it, or what the user has put there since."""
    before = edit.format.find(text, change.key)
    earlier = known.find(change.key) if known is not None else None
    if earlier is not None and before == earlier.wrote:
        return replace(earlier, wrote=source)
    return KeyRecord(key=list(change.key), wrote=source, before=before, kept=edit.format.depth(text, change.key))


def check(edit: Edit, text: str) -> None:
    """Makes sure that the edited text says what it should. Raises `UnfitError`: better no edit than a wrong one."""
    for change in edit.changes:
        value = current_value(edit, text, change)
        if value is None or (value != change.value and not change.optional):
            raise UnfitError(f"could not be given a {'.'.join(change.key)}")


def record_of(one: Draft, known: FileRecord | None) -> FileRecord:
    """The record of a file that is about to be written; makes the backup at the first time."""
    file = one.edit.file
    if known is None:
        backup = str(back_up(file, one.old)) if file.exists() else ""
        return FileRecord(
            file=str(file), format=one.edit.format.name, backup=backup, digest=digest_of(one.new), keys=one.keys
        )
    untouched = known.digest == digest_of(one.old)
    return replace(known, digest=digest_of(one.new) if untouched else "", keys=one.keys)


def steps_of(one: Draft) -> list[Step]:
    return [
        Step(
            file=str(one.edit.file),
            key=".".join(change.key),
            action="kept" if wanted_source(one.edit, one.old, change) is None else "set",
            value=text_of(current_value(one.edit, one.new, change)),
            before=text_of(current_value(one.edit, one.old, change)),
        )
        for change in one.edit.changes
    ]


def text_of(value: Any) -> str | None:
    return None if value is None else shown(value)


def undo(client: Client, data_dir: Path) -> list[Step]:
    """Takes back what `write` did and the user has not changed since. Without anything to take back it does nothing.

    Raises `InputError` for a file that cannot be edited any more; nothing has been taken back then.
    """
    journal = load_journal(data_dir, client.name)
    if journal is None:
        return []
    reverts = [revert(record) for record in journal.files]
    for one in reverts:
        put_back(one)
    drop_journal(data_dir, client.name)
    return [step for one in reverts for step in one.steps]


class Revert(Struct, frozen=True, kw_only=True):
    """One file without our keys; `text` is `None` where no file was before. `exact`: it is the backup to the byte."""

    record: FileRecord
    text: str | None
    exact: bool
    steps: list[Step]


def revert(record: FileRecord) -> Revert:
    """Works out how a file was before. Raises `InputError`."""
    file = Path(record.file)
    form = FORMATS[record.format]
    try:
        now = read_text(file)
        text, steps = now, []
        for key in reversed(record.keys):
            text, step = revert_key(form, text, key, record.file)
            steps.append(step)
    except UnfitError as error:
        hint = f"The file as it was before is {record.backup}." if record.backup else "Mend the file, then try again."
        raise InputError(f"{where(record.file, error)} {error}, so nothing was taken back.", hint=hint) from error
    exact = record.digest == digest_of(now)
    if exact:
        text = original(record, text)
    gone = not record.backup and form.is_empty(text)
    return Revert(record=record, text=None if gone else text, exact=exact, steps=steps)


def original(record: FileRecord, text: str) -> str:
    """The backup; where that is not there any more, what taking out our keys has left."""
    try:
        return read_text(Path(record.backup)) or text if record.backup else text
    except UnfitError:
        return text


def revert_key(form: Format, text: str, record: KeyRecord, file: str) -> tuple[str, Step]:
    """The text with one key as it was before, unless somebody has changed it since."""
    key = tuple(record.key)
    source = form.find(text, key)
    value = None if source is None else shown(form.value(source))
    if source != record.wrote:
        return text, Step(file=file, key=".".join(key), action="left", value=value)
    if record.before is None:
        removed = form.remove(text, key, record.kept)
        return removed, Step(file=file, key=".".join(key), action="removed", value=None, before=value)
    before = shown(form.value(record.before))
    restored = form.put(text, key, record.before)
    return restored, Step(file=file, key=".".join(key), action="restored", value=before, before=value)


def put_back(one: Revert) -> None:
    """Writes a file as it was before. Its backup goes only when nothing else could be wanted from it."""
    file = Path(one.record.file)
    if one.text is None:
        file.unlink(missing_ok=True)
    elif file.exists():  # a file that the user has deleted stays so
        write_file(file, one.text)
    if one.exact and one.record.backup:
        Path(one.record.backup).unlink(missing_ok=True)


def cannot_edit(edit: Edit, error: UnfitError) -> InputError:
    """What to tell about a file that must be changed by hand."""
    return InputError(
        f"{where(str(edit.file), error)} {error}, so it was left as it is.",
        hint=f"Put this into it by hand:\n{edit.snippet()}",
    )


def where(file: str, error: UnfitError) -> str:
    return f"{file}:{error.line}" if error.line is not None else file
