"""The classifier over real sockets (routing specification, section 5)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
from msgspec.structs import replace

from ullage.core.privacy import PrivacySettings
from ullage.core.privacy.guard import PrivacyGuard
from ullage.core.profiles import Prices
from ullage.core.quota import QuotaRules
from ullage.core.routing.classifier import Verdict
from ullage.core.routing.filtering import Candidate, Constraints, make_candidate
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pricing import resolve_price
from ullage.core.routing.route import NO_CONFIG, RouteConfig
from ullage.core.routing.task import analyze_task
from ullage.core.wire import DIALECTS, Dialect
from ullage.engine.classifying import PAUSE_MS, Classifying, Graded, Question, Reply, put_question, question_usd
from ullage.engine.quota import Answered, Quotas
from ullage.engine.targets import Destination
from ullage.settings import UpstreamSettings
from ullage.settings.credentials import Credential
from ullage.settings.routing import ClassifierSettings
from ullage.testing import FakeProvider, Fault
from ullage.testing import Reply as Said
from ullage.upstream import UpstreamClient

NOW_MS = 1_700_000_000_000
VAGUE = "Please have a look at the thing we talked about"
GRADE = '{"complexity":0.8,"requiresReasoning":true,"minTier":"strong","x":1}'
HAIKU, OPUS = "anthropic/claude-haiku", "anthropic/claude-opus-5"


def _candidate(
    target: str, price: float | None = 0.8, *, authenticated: bool = True, api: str = "anthropic"
) -> Candidate:
    provider, _, name = target.partition("/")
    prices = Prices() if price is None else Prices(input=price, output=5 * price)
    record = ModelRecord(
        provider=provider,
        id=name,
        api=api,
        prices=prices,
        inputs=("text",),
        context_window=200_000,
        max_output_tokens=8_192,
        authenticated=authenticated,
    )
    return make_candidate(record)


class Reachable:
    """Targets at one root."""

    def __init__(
        self, root: str = "http://127.0.0.1:9", dialect: Dialect = "anthropic", *candidates: Candidate
    ) -> None:
        self.root, self.dialect = root, dialect
        self.known = candidates or (_candidate(OPUS, 5), _candidate(HAIKU))

    def candidates(self, dialect: Dialect, *, client_key: bool) -> tuple[Candidate, ...]:
        assert not client_key, "the client's own key is for the client's own requests"
        return self.known if dialect == self.dialect else ()

    def destination(self, target: str, dialect: Dialect, *, client_key: bool) -> Destination | None:
        provider, _, model = target.partition("/")
        return Destination(
            target=target,
            provider=provider,
            model=model,
            dialect=dialect,
            root=self.root,
            credential=Credential("KEY", "sk-test-0123456789"),
        )

    def suggest(self, target: str) -> str | None:
        return None


def _classifying(targets: Reachable | None = None, *, guard: PrivacyGuard | None = None, **settings) -> Classifying:
    quotas = settings.pop("quotas", None) or Quotas(QuotaRules())
    return Classifying(ClassifierSettings(**({"enabled": True} | settings)), targets or Reachable(), guard, quotas)


def _consider(
    classifying: Classifying,
    prompt: str = VAGUE,
    *,
    session: str = "s",
    config: RouteConfig = NO_CONFIG,
    now_ms: int = NOW_MS,
) -> Question | Graded:
    return classifying.consider(analyze_task(prompt), prompt, session=session, config=config, now_ms=now_ms)


def _question(*args, **fields) -> Question:
    found = _consider(*args, **fields)
    assert isinstance(found, Question)
    return found


@pytest.fixture
async def client() -> AsyncIterator[UpstreamClient]:
    client = UpstreamClient(UpstreamSettings(connect_timeout_s=1))
    yield client
    await client.close()


async def _grade(
    client: UpstreamClient, *rules, dialect: Dialect = "anthropic", **settings
) -> tuple[Graded, Classifying, FakeProvider]:
    async with FakeProvider(list(rules)) as provider:
        classifying = _classifying(Reachable(provider.url, dialect), **settings)
        question = _question(classifying)
        reply = await put_question(client, question)
        return classifying.settle(question, reply, now_ms=NOW_MS), classifying, provider


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_light_model_is_asked_and_its_answer_read(client: UpstreamClient, dialect: Dialect) -> None:
    graded, classifying, provider = await _grade(client, Said(text=GRADE), dialect=dialect, timeout_ms=2_000)
    assert graded.verdict == Verdict(complexity=0.8, requires_reasoning=True, minimum_tier="strong")
    assert graded.note is not None
    assert graded.note.startswith(f"classified by {HAIKU} (0.00")
    assert graded.note.endswith(" USD)")
    assert classifying.report()["counts"] == {"answered": 1}
    assert classifying.report()["usd"] > 0
    [request] = provider.requests
    assert b"have a look at the thing" in request.body
    assert b"untrusted" in request.body


@pytest.mark.parametrize("text", [f"```json\n{GRADE}\n```", f"  {GRADE}\n"])
async def test_a_fenced_answer_is_read(client: UpstreamClient, text: str) -> None:
    graded, _, _ = await _grade(client, Said(text=text), timeout_ms=2_000)
    assert graded.verdict is not None
    assert graded.verdict.complexity == 0.8


@pytest.mark.parametrize("text", [f"Sure! {GRADE}", '{"complexity":7}', "no idea", "{"])
async def test_an_answer_that_is_no_grade_is_ignored_and_not_asked_for_again(client: UpstreamClient, text: str) -> None:
    graded, classifying, _ = await _grade(client, Said(text=text), timeout_ms=2_000)
    assert graded.verdict is None
    assert graded.note is not None
    assert graded.note.startswith(f"classifier {HAIKU}: bad-answer (0.00")
    assert classifying.report()["counts"] == {"bad-answer": 1}
    assert _consider(classifying) == Graded(note="classified before")


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=401)], ids=["server", "key"])
async def test_a_broken_provider_costs_nothing_but_the_grade(client: UpstreamClient, fault: Fault) -> None:
    graded, classifying, _ = await _grade(client, fault, timeout_ms=2_000)
    assert graded == Graded(note=f"classifier {HAIKU}: provider-error", asked=HAIKU, usd=0.0)
    assert classifying.report() == {"counts": {"provider-error": 1}, "usd": 0.0}
    assert isinstance(_consider(classifying), Question)


@pytest.mark.parametrize("fault", [Fault(empty=True), Fault(html=True)], ids=["empty", "html"])
async def test_an_answer_that_is_none_is_a_bad_one(client: UpstreamClient, fault: Fault) -> None:
    graded, _, _ = await _grade(client, fault, timeout_ms=2_000)
    assert graded.verdict is None


async def test_a_slow_provider_is_not_waited_for(client: UpstreamClient) -> None:
    graded, classifying, provider = await _grade(client, Fault(delay_ms=60_000), timeout_ms=20)
    assert graded == Graded(note=f"classifier {HAIKU}: timeout", asked=HAIKU)
    assert classifying.report()["counts"] == {"timeout": 1}
    assert len(provider.requests) <= 1


def test_after_three_timeouts_in_a_row_nobody_is_asked_for_ten_minutes() -> None:
    classifying = _classifying()
    for number in range(3):
        question = _question(classifying, f"{VAGUE} {number}")
        classifying.settle(question, Reply(failure="timeout"), now_ms=NOW_MS + number)
    assert _consider(classifying, now_ms=NOW_MS + 2 + PAUSE_MS - 1) == Graded(note="classifier not asked: paused")
    assert isinstance(_consider(classifying, now_ms=NOW_MS + 2 + PAUSE_MS), Question)


def test_an_answer_between_timeouts_begins_their_count_anew() -> None:
    classifying = _classifying()
    for number, reply in enumerate(
        [Reply(failure="timeout")] * 2 + [Reply(text=GRADE)] + [Reply(failure="timeout")] * 2
    ):
        classifying.settle(_question(classifying, f"{VAGUE} {number}"), reply, now_ms=NOW_MS)
    assert isinstance(_consider(classifying), Question)


def test_off_is_off_and_a_clear_task_is_nobodys_question() -> None:
    assert _consider(_classifying(enabled=False)) == Graded()
    assert ClassifierSettings().enabled is False
    assert _consider(_classifying(), "Debug this failing test") == Graded()
    assert (
        Classifying(ClassifierSettings(enabled=True), None, None, Quotas(QuotaRules())).consider(
            analyze_task(VAGUE), VAGUE, session="s", config=NO_CONFIG, now_ms=0
        )
        == Graded()
    )


def test_an_answer_is_kept_for_the_session_until_models_change() -> None:
    targets = Reachable()
    classifying = _classifying(targets)
    classifying.settle(_question(classifying), Reply(text=GRADE), now_ms=NOW_MS)
    known = _consider(classifying)
    assert isinstance(known, Graded)
    assert known.verdict is not None
    assert isinstance(_consider(classifying, session="other"), Question)
    assert isinstance(_consider(classifying, VAGUE + "!"), Question)
    targets.known = (_candidate(HAIKU),)
    assert isinstance(_consider(classifying), Question)


@pytest.mark.parametrize(("timeout_ms", "waited_ms"), [(1, 1), (400, 400), (2_000, 2_000), (9_000, 2_000)])
def test_the_wait_is_two_seconds_at_most(timeout_ms: int, waited_ms: int) -> None:
    assert _question(_classifying(timeout_ms=timeout_ms)).timeout_ms == waited_ms


def test_the_head_of_the_prompt_goes_as_data_in_a_string() -> None:
    prompt = 'x"\n' * 1_000
    question = _question(_classifying(), prompt)
    body = msgspec.json.decode(question.worded.body)
    sent = msgspec.json.decode(body["messages"][0]["content"])
    assert sent == prompt[:1_200]
    assert body["max_tokens"] == 128


def test_a_prompt_of_broken_letters_is_asked_about_all_the_same() -> None:
    assert b"?" in _question(_classifying(), VAGUE + " \ud800").worded.body


def test_scope_constraints_and_keys_hold_for_the_classifier_too() -> None:
    denied = RouteConfig(constraints=Constraints(model_exclude=(HAIKU,)))
    assert _question(_classifying(max_usd=0.01), config=denied).destination.target == OPUS
    assert _question(_classifying(max_usd=0.01), config=RouteConfig(scope=(OPUS,))).destination.target == OPUS
    nobody = Graded(note="classifier not asked: no-target")
    assert _consider(_classifying(), config=RouteConfig(scope=("x/*",))) == nobody
    keyless = Reachable("http://127.0.0.1:9", "anthropic", _candidate(HAIKU, authenticated=False))
    assert _consider(_classifying(keyless)) == nobody


def test_a_named_target_is_asked_whatever_the_scope_unless_it_is_denied() -> None:
    named = _classifying(target=OPUS, max_usd=0.01)
    assert _question(named, config=RouteConfig(scope=(HAIKU,))).destination.target == OPUS
    denied = RouteConfig(constraints=Constraints(provider_deny=("anthropic",)))
    assert _consider(_classifying(target=OPUS), config=denied) == Graded(note="classifier not asked: no-target")


def test_a_named_target_may_be_one_that_is_else_chosen_only_by_name() -> None:
    apart = replace(_candidate("mine/apart", 0.1), usual=False)
    targets = Reachable("http://127.0.0.1:9", "anthropic", _candidate(HAIKU), apart)
    assert _question(_classifying(targets, target="mine/apart")).destination.target == "mine/apart"


def test_a_question_that_may_cost_too_much_is_not_asked() -> None:
    assert _consider(_classifying(max_usd=0.0001)) == Graded(note="classifier not asked: cost")
    unpriced = _candidate("mine/any", None)
    far = _classifying(Reachable("https://models.example", "anthropic", unpriced))
    assert _consider(far) == Graded(note="classifier not asked: cost")
    assert isinstance(_consider(_classifying(Reachable("http://127.0.0.1:9", "anthropic", unpriced))), Question)


def test_the_worked_price_of_a_question() -> None:
    record = ModelRecord(provider="a", id="b", prices=Prices(input=0.8, output=4))
    assert question_usd(resolve_price(record), "x" * 1_500) == pytest.approx(0.000912)


def test_a_question_in_chinese_is_not_taken_for_a_third_of_its_tokens() -> None:
    record = ModelRecord(provider="a", id="b", prices=Prices(input=0.8, output=4))
    text = "审查这个系统架构" * 150
    latin, chinese = (question_usd(resolve_price(record), one) or 0 for one in ("x" * 1_200, text))
    assert chinese >= (len(text) * 0.8 + 128 * 4) / 1_000_000 > latin
    most = (latin + chinese) / 2 + 0.0003
    assert isinstance(_consider(_classifying(max_usd=most)), Question)
    assert _consider(_classifying(max_usd=most), "这个" * 1_000) == Graded(note="classifier not asked: cost")


def test_where_privacy_withholds_a_prompt_nobody_is_asked() -> None:
    guard = PrivacyGuard(PrivacySettings(enabled=True))
    far = Reachable("https://models.example")
    marked = f"[ullage:sensitive]{VAGUE}" + " and more" * 300 + "[/ullage:sensitive]"
    classifying = _classifying(far, guard=guard)
    assert _consider(classifying, marked) == Graded(note="classifier not asked: privacy")
    assert classifying.report()["counts"] == {"privacy": 1}
    assert isinstance(_consider(classifying), Question)


def test_a_secret_in_a_prompt_is_taken_out_before_it_goes() -> None:
    guard = PrivacyGuard(PrivacySettings(enabled=True))
    secret = "sk-ant-api03-" + "aB3" * 31 + "aAA"
    found = _consider(_classifying(Reachable("https://models.example"), guard=guard), f"{VAGUE} {secret}")
    assert not isinstance(found, Question) or secret.encode() not in found.worded.body


def test_nobody_is_asked_at_a_provider_that_is_spent() -> None:
    quotas = Quotas(QuotaRules())
    quotas.note(Answered(provider="anthropic", status=402, asked_ms=NOW_MS - 9, at_ms=NOW_MS - 8))
    other = _candidate("mine/small", 0.9)
    targets = Reachable("http://127.0.0.1:9", "anthropic", _candidate(HAIKU), other)
    assert _question(_classifying(targets, quotas=quotas)).destination.target == "mine/small"
    assert _consider(_classifying(quotas=quotas)) == Graded(note="classifier not asked: no-target")


async def test_what_a_question_cost_counts_for_its_provider(client: UpstreamClient) -> None:
    quotas = Quotas(QuotaRules())
    await _grade(client, Said(text=GRADE), timeout_ms=2_000, quotas=quotas)
    view = quotas.view("anthropic", NOW_MS)
    assert view.requests == 1
    assert view.usd > 0


@pytest.mark.parametrize(
    ("fault", "status", "usd"),
    [
        (Fault(cut_after=20), 200, None),
        (Fault(hang_up=True), None, None),
        (Fault(status=504), 504, None),
        (Fault(status=503), 503, 0.0),
    ],
)
async def test_an_answer_that_breaks_may_have_cost_something(
    client: UpstreamClient, fault: Fault, status: int | None, usd: float | None
) -> None:
    async with FakeProvider([fault]) as provider:
        classifying = _classifying(Reachable(provider.url, "anthropic"), timeout_ms=2_000)
        question = _question(classifying)
        reply = await put_question(client, question)
    assert (reply.failure, reply.status) == ("provider-error", status)
    assert classifying.settle(question, reply, now_ms=NOW_MS).usd == usd
