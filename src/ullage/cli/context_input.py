"""What `ullage context` can look at: a recorded session, a request body, a captured request, the newest live call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ullage.core.errors import CallError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.core.accounting import Breakdown, Record
    from ullage.core.content import Usage
    from ullage.sources import Call, Session

STDIN = "-"
REQUEST_NAME = "request.json"
META_NAME = "meta.json"
_LIVE_CALLS = 50


class Wishes(NamedTuple):
    """What the caller said about the request; `None` is to be found out. `call` counts from 1."""

    dialect: str | None = None
    provider: str | None = None
    model: str | None = None
    window: int | None = None
    call: int | None = None


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


def read_breakdown(source: str | None, wishes: Wishes, progress: Callable[[int, int], None] | None = None) -> Breakdown:
    """The breakdown of a source. Raises `InputError` for what cannot be read, `CallError` for wishes that do not fit it."""
    if source is None:
        return named(_live(wishes), "live")
    request = find_request(source, wishes)
    if request is not None:
        return named(account_request(request), source)
    return named(_session(Path(source), wishes, progress), source)


def find_request(source: str, wishes: Wishes) -> Request | None:
    """The request body that a source holds: standard input, a captured request, a file. `None`: a session, or nothing readable.

    Raises `InputError` for what is not there.
    """
    if source == STDIN:
        return Request(sys.stdin.buffer.read(), wishes)
    path = Path(source)
    if path.is_dir():
        return _captured(path, wishes)
    body = _request_in(path)
    return Request(body, wishes) if body is not None else None


def named(breakdown: Breakdown, source: str) -> Breakdown:
    """The breakdown with where it came from, if it does not say so itself."""
    return msgspec.structs.replace(breakdown, source=breakdown.source or source)


def _live(wishes: Wishes) -> Breakdown:
    """The newest conversation call of the store."""
    from ullage.core.accounting import load_report

    from .records import open_records

    _refuse_call(wishes)
    for call in open_records().calls(kind="conversation", limit=_LIVE_CALLS):
        if call.breakdown is not None:
            breakdown = load_report(call.breakdown)
            return msgspec.structs.replace(
                breakdown,
                source=breakdown.source or f"call:{call.id}",
                window=wishes.window or breakdown.window,
            )
    raise InputError(
        "No accounted call is recorded yet.",
        hint="Send one prompt through `ullage serve`, or give a session file or a request body.",
        code="not_found",
    )


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
    merged = Wishes(
        dialect=wishes.dialect or _word(meta, "dialect"),
        provider=wishes.provider or _word(meta, "provider"),
        model=wishes.model or _word(meta, "model"),
        window=wishes.window or (meta["window"] if isinstance(meta.get("window"), int) else None),
        call=wishes.call,
    )
    response = next((path for path in sorted(folder.glob("response.*")) if path.is_file()), None)
    answer = response.read_bytes() if response is not None else None
    return Request(request.read_bytes(), merged, client=_word(meta, "client"), answer=answer)


def account_request(request: Request) -> Breakdown:
    """The breakdown of a request body, measured by the usage in its answer if that is there."""
    from ullage.core.accounting import account, make_meter, read_payload

    wishes, shape = request.wishes, request.shape
    _refuse_call(wishes)
    payload = read_payload(request.body, shape)
    meter = make_meter(
        dialect=shape, provider=wishes.provider, model=wishes.model or payload.model, client=request.client
    )
    return account(
        payload.context,
        meter,
        usage=_usage(request.answer, shape),
        window=wishes.window,
        options=payload.options,
        details=True,
    )


def _usage(answer: bytes | None, shape: str) -> Usage | None:
    from ullage.core.wire import DIALECTS, AnswerReader

    dialect = next((dialect for dialect in DIALECTS if dialect == shape), None)
    if answer is None or dialect is None:
        return None
    reader = AnswerReader(dialect, streamed=not answer.lstrip().startswith(b"{"))
    reader.feed(answer)
    return reader.close().usage


def _request_in(path: Path) -> bytes | None:
    """The request body in a JSON file, or below `request` in a case file; `None` if the file holds something else."""
    from ullage.core.accounting import guess_shape

    try:
        data = path.read_bytes()
        value: Any = msgspec.json.decode(data) if data.lstrip()[:1] == b"{" else None
    except FileNotFoundError:
        raise InputError(
            f"There is no file {path}.",
            hint="Give a session file, a request body, a folder with request.json, or nothing for the newest live call.",
            code="not_found",
        ) from None
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None  # not one JSON document: a session file tells better what is wrong with it
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("request"), dict):
        # Its very bytes: what is sent on must not be written anew.
        data = bytes(msgspec.json.decode(data, type=dict[str, msgspec.Raw])["request"])
    return data if guess_shape(data) is not None else None


def _session(path: Path, wishes: Wishes, progress: Callable[[int, int], None] | None) -> Breakdown:
    from ullage.core.accounting import account_recorded, make_meter, measure_message, measure_system, measure_tool
    from ullage.core.accounting.details import describe
    from ullage.sources import read_session

    session = read_session(path, progress=progress)
    call, anchor = _choose_call(session, wishes)
    context = session.context(call)
    latest = _call_that_names(session, call)
    meter = make_meter(
        dialect=wishes.dialect or (latest.dialect if latest else None),
        provider=wishes.provider or (latest.provider if latest else None),
        model=wishes.model or (latest.model if latest else None),
        client=session.client,
    )
    breakdown = account_recorded(
        meter,
        system=[measure_system(text, meter) for text in context.system],
        tools=[measure_tool(spec, meter) for spec in context.tools],
        messages=[measure_message(message, meter) for message in context.messages],
        record=_record(session, anchor, complete=context.complete),
        window=wishes.window or session.window,
        details=describe(context, meter),
    )
    return msgspec.structs.replace(breakdown, client=session.client, session=session.id)


def _choose_call(session: Session, wishes: Wishes) -> tuple[int | None, int | None]:
    """Which call's context to show (`None`: what the next one would send) and the call whose usage it is measured by."""
    if wishes.call is not None:
        if not 1 <= wishes.call <= len(session.calls):
            raise CallError(
                f"There is no call {wishes.call}: the session has {len(session.calls)}.",
                hint=f"Give --call 1 to {len(session.calls)}." if session.calls else "Leave --call out.",
                code="no_such_call",
            )
        index = wishes.call - 1
        return index, index if session.calls[index].trusted else session.anchor(index)
    anchor = session.anchor()
    if anchor is None:
        return None, None
    call = session.calls[anchor]
    reply = set(call.reply)
    sent = len(session.messages(None, call.messages))
    pending = any(index not in reply for index in range(call.messages, call.messages + sent))
    return (None if pending else anchor), anchor


def _call_that_names(session: Session, call: int | None) -> Call | None:
    """The call that says which model is spoken to: the one asked for, else the last one of the main chain."""
    if call is not None:
        return session.calls[call]
    named = (one for one in reversed(session.calls) if not one.sidechain and one.model is not None)
    return next(named, None)


def _record(session: Session, anchor: int | None, *, complete: bool) -> Record:
    from ullage.core.accounting import Record

    chain = list(_chain(session, anchor))
    first = chain[0] if chain else None
    compaction = session.compactions[-1] if session.compactions else None
    behind = compaction is not None and (first is None or compaction.before_call <= first.index)
    whole = first is not None and first.previous is None and not session.problems.headless and not first.lossy
    return Record(
        calls=tuple(_facts(call) for call in chain),
        complete=complete,
        from_start=whole,
        compacted=behind,
        tokens_after=compaction.tokens_after if compaction is not None and behind else None,
    )


def _chain(session: Session, anchor: int | None) -> Iterator[Call]:
    """The trusted calls that lead to the anchor, oldest first."""
    found = []
    while anchor is not None:
        found.append(session.calls[anchor])
        anchor = session.anchor(anchor)
    return reversed(found)


def _facts(call: Call) -> Any:
    from ullage.core.accounting import CallFacts

    assert call.usage is not None, "a trusted call has usage"
    return CallFacts(
        usage=call.usage,
        provider=call.provider,
        api=call.api,
        model=call.model,
        start=call.messages,
        reply=call.reply,
        output_unsure=call.output_unsure,
    )


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


def _refuse_call(wishes: Wishes) -> None:
    if wishes.call is not None:
        raise CallError("--call picks a call of a session file.", hint="Leave it out here.", code="no_such_call")
