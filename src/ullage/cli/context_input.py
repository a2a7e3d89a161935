"""What `ullage context` can look at: a recorded session, a request body, a captured request, the newest live call."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec

from ullage.core.errors import CallError, InputError, RequestError, SessionError
from ullage.core.wire.jsontext import BOM, decode
from ullage.core.wire.slicing import find_member, members

from .inputs import STDIN, keep_stream, standard_input
from .preferences import Preferences

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.accounting import Breakdown, Meter
    from ullage.core.accounting.insights import Insights, Repeats
    from ullage.core.content import Context, Usage

    from .inspection import Inspection

REQUEST_NAME = "request.json"
META_NAME = "meta.json"


class Wishes(NamedTuple):
    """What the caller said about the request; `None` is to be found out. `call` counts from 1, `preferences` say how to count."""

    dialect: str | None = None
    provider: str | None = None
    model: str | None = None
    window: int | None = None
    call: int | None = None
    preferences: Preferences = Preferences()


class Request(NamedTuple):
    """A request body as it was sent, with what the caller or the files beside it say of it, and the answer if it is there."""

    body: bytes
    wishes: Wishes
    client: str | None = None
    answer: bytes | None = None

    @property
    def shape(self) -> str:
        """The shape that was named, else the one its keys tell. Raises `InputError` if they tell none."""
        from ullage.core.accounting import guess_shape

        shape = self.wishes.dialect or guess_shape(self.body)
        if shape is None:
            raise InputError(
                "This JSON object is no request that any dialect would send.",
                hint="Give a request body with `messages`, `input` or `contents`, or name the --dialect.",
                code="unknown_shape",
            )
        return shape


def inspect(source: str | None, wishes: Wishes, progress: Callable[[int, int], None] | None = None) -> Inspection:
    """What is found out about a source. Raises `InputError` if it cannot be read, `CallError` for wishes that do not fit it."""
    if source is None:
        from .context_live import inspect_live

        refuse_call(wishes)
        return _named(inspect_live(wishes), "live")
    found = open_source(source, wishes)
    if isinstance(found, Request):
        return _named(inspect_request(found), source)
    from .context_session import inspect_session

    try:
        return _named(inspect_session(found, wishes, progress), source)
    except SessionError as error:
        raise _for_any_source(error, found, source) from error


def read_breakdown(source: str | None, wishes: Wishes, progress: Callable[[int, int], None] | None = None) -> Breakdown:
    """The breakdown of a source alone; it raises what `inspect` does."""
    return inspect(source, wishes, progress).breakdown


def find_request(source: str, wishes: Wishes) -> Request | None:
    """The request body that a source holds: standard input, a pipe, a captured request, a file. `None`: a session, or nothing
    readable.

    Raises `InputError` for what is not there.
    """
    found = open_source(source, wishes)
    return found if isinstance(found, Request) else None


def open_source(source: str, wishes: Wishes) -> Request | Path:
    """The request in a source, else the path of what may be a session, which is a copy where it can be read only once."""
    path = Path(source)
    if source == STDIN:
        path = keep_stream(standard_input())
    elif path.is_dir():
        return _captured(path, wishes)
    elif path.is_fifo():
        with path.open("rb") as pipe:
            path = keep_stream(pipe)
    body = _request_in(path, surely=wishes.dialect is not None)
    return Request(body, wishes) if body is not None else path


def _for_any_source(error: SessionError, path: Path, source: str) -> SessionError:
    """An error of a session's reader for somebody who may have meant a request."""
    if error.code not in ("unknown_session", "empty_session", "unreadable_session"):
        return error
    name = "Standard input" if source == STDIN else source
    body = (
        "A request body is one JSON object with `messages`, `input` or `contents`; --dialect names any other's shape."
    )
    return SessionError(error.message.replace(str(path), name), hint=f"{error.hint} {body}", code=error.code)


def named(breakdown: Breakdown, source: str) -> Breakdown:
    """The breakdown with where it came from, if it does not say so itself. A file's name may be no text in any encoding."""
    from ullage.core.tokens.surrogates import replace_lone_surrogates

    return msgspec.structs.replace(breakdown, source=breakdown.source or replace_lone_surrogates(source))


def _named(inspection: Inspection, source: str) -> Inspection:
    return inspection._replace(breakdown=named(inspection.breakdown, source))


def _captured(folder: Path, wishes: Wishes) -> Request:
    """A folder with `request.json`, and perhaps `meta.json` and a response."""
    request = folder / REQUEST_NAME
    if not request.is_file():
        raise InputError(
            f"{folder} is no captured request: it holds no {REQUEST_NAME}.",
            hint=f"Give a session file, a request body, or a folder with {REQUEST_NAME}, {META_NAME} and response.*.",
            code="not_found",
        )
    meta = _meta(folder / META_NAME)
    merged = wishes._replace(
        dialect=wishes.dialect or _word(meta, "dialect"),
        provider=wishes.provider or _word(meta, "provider"),
        model=wishes.model or _word(meta, "model"),
        window=wishes.window or (meta["window"] if isinstance(meta.get("window"), int) else None),
    )
    response = next((path for path in sorted(folder.glob("response.*")) if path.is_file()), None)
    answer = response.read_bytes() if response is not None else None
    return Request(request.read_bytes(), merged, client=_word(meta, "client"), answer=answer)


def account_request(request: Request) -> Breakdown:
    """The breakdown of a request body, measured by the usage in its answer if that is there."""
    return inspect_request(request).breakdown


def inspect_request(request: Request) -> Inspection:
    """What is found out about a request body. Raises `CallError` for wishes that do not fit it."""
    from ullage.core.accounting import account, read_payload

    from .inspection import Inspection, with_repeats

    wishes, shape = request.wishes, request.shape
    refuse_call(wishes)
    payload = read_payload(request.body, shape)
    meter = wishes.preferences.meter(
        dialect=shape, provider=wishes.provider, model=wishes.model or payload.model, client=request.client
    )
    usage = _usage(request.answer, shape)
    breakdown = account(
        payload.context, meter, usage=usage, window=wishes.window, options=payload.options, details=True
    )
    breakdown, repeats = with_repeats(breakdown, payload.context, meter)
    return Inspection(breakdown, partial(_insights, request.body, shape, payload.context, meter, usage, repeats))


def _insights(
    body: bytes, shape: str, context: Context, meter: Meter, usage: Usage | None, repeats: Repeats
) -> Insights:
    """The insights into one request: there is nothing before it to compare it with."""
    from ullage.core.accounting import measure_message, measure_system, measure_tool
    from ullage.core.accounting.insights import CachedCall, Insights, find_caching, find_marks, measured_harness_rows
    from ullage.core.wire import DIALECTS, parse_request

    dialect = next((dialect for dialect in DIALECTS if dialect == shape), None)
    marks = find_marks(parse_request(body, dialect)) if dialect is not None else ()
    calls = [CachedCall(call=1, usage=usage, start=len(context.messages))] if usage is not None else []
    system = [measure_system(text, meter) for text in context.system]
    tools = [measure_tool(spec, meter) for spec in context.tools]
    messages = [measure_message(message, meter) for message in context.messages]
    harness = measured_harness_rows(meter, system, tools)
    return Insights(repeats=repeats, caching=find_caching(calls, messages, harness, marks=marks or None))


def _usage(answer: bytes | None, shape: str) -> Usage | None:
    from ullage.core.wire import DIALECTS, AnswerReader

    dialect = next((dialect for dialect in DIALECTS if dialect == shape), None)
    if answer is None or dialect is None:
        return None
    reader = AnswerReader(dialect, streamed=not answer.lstrip().startswith(b"{"))
    reader.feed(answer)
    return reader.close().usage


def _request_in(path: Path, *, surely: bool) -> bytes | None:
    """The request body in a file, or below `request` in a case file; `None` if the file holds something else.

    Legal is what is legal on the wire (design, section 11). `surely`: the caller says that it is a request.
    """
    try:
        with path.open("rb") as file:
            if not surely and _is_lines(file):
                return None
            data = file.read()
    except FileNotFoundError:
        raise InputError(
            f"There is no file {path}.",
            hint="Give a session file, a request body, a folder with request.json, or nothing for the newest live call.",
            code="not_found",
        ) from None
    except OSError:
        return None  # the reader of sessions says what is wrong
    if _has_shape(data):
        return data
    inner = _below_request(data)
    if inner is not None and (surely or _has_shape(inner)):
        return inner
    return data if surely else None


def _is_lines(file: BinaryIO) -> bool:
    """Whether a file is JSON Lines, told by its first ones: such a file may be large, and no request is."""
    first = file.readline()
    several = any(line.strip() for line in file) and isinstance(decode(first), dict)
    file.seek(0)
    return several


def _has_shape(data: bytes) -> bool:
    from ullage.core.accounting import guess_shape

    try:
        return guess_shape(data) is not None
    except RequestError:
        return False  # no JSON object


def _below_request(data: bytes) -> bytes | None:
    """The object below `request`, as its very bytes: what is sent on must not be written anew."""
    start = len(BOM) if data.startswith(BOM) else 0
    try:
        found = find_member(members(data, start), "request")
    except (msgspec.DecodeError, RequestError, RecursionError):
        return None
    return data[found.value : found.end] if found is not None and data.startswith(b"{", found.value) else None


def _meta(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = msgspec.json.decode(path.read_bytes())
    except msgspec.MsgspecError as error:
        raise InputError(f"{path} is not JSON: {error}.", hint="Mend it or take it away.", code="bad_meta") from error
    return value if isinstance(value, dict) else {}


def _word(meta: dict[str, Any], key: str) -> str | None:
    value = meta.get(key)
    return value if isinstance(value, str) and value else None


def refuse_call(wishes: Wishes) -> None:
    """Raises `CallError` where a call was asked for and the source is no session."""
    if wishes.call is not None:
        raise CallError("--call picks a call of a session file.", hint="Leave it out here.", code="no_such_call")
