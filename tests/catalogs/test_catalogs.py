"""All sources together: asked from any thread, told by any thread, whatever network and disk do."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.catalogs.doubles import NOW_MS, Clock
from ullage.catalogs import Catalogs, load_now, open_catalogs
from ullage.catalogs import catalogs as module
from ullage.catalogs.files import GENAI_FILE, LITELLM_FILE, REPORTED_FOLDER
from ullage.catalogs.genai import find_version
from ullage.catalogs.memory import LONGEST_NAME
from ullage.catalogs.orders import Order, Outcome
from ullage.core.errors import InputError
from ullage.core.profiles import ModelFacts

HOUR_MS = 3_600_000
OPENROUTER_LIST = b'{"data": [{"id": "openai/gpt-4o-mini", "top_provider": {"max_completion_tokens": 16384}}]}'
LOCAL_LIST = b'{"data": [{"id": "llama", "meta": {"n_ctx": 32768}}]}'


@pytest.fixture(autouse=True)
def current_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The excerpt of genai-prices is of the installed version, whichever that is."""
    monkeypatch.setattr(module, "find_version", lambda: "0.2.3")


class TestModels:
    def test_those_are_listed_that_litellm_has_and_that_a_provider_has_told_of(self, catalogs: Catalogs) -> None:
        before = catalogs.models("openrouter")
        assert "gpt-5" in catalogs.models("openai")
        catalogs.note_models("openrouter", OPENROUTER_LIST.replace(b"gpt-4o-mini", b"gpt-9"))
        assert set(catalogs.models("openrouter")) == {*before, "openai/gpt-9"} != set(before)

    def test_of_a_local_server_what_it_has_told_is_known(self, catalogs: Catalogs) -> None:
        assert catalogs.models("127.0.0.1:8080") == ()
        catalogs.note_models("127.0.0.1:8080", LOCAL_LIST)
        assert catalogs.models("127.0.0.1:8080") == ("llama",)

    def test_without_litellm_genai_prices_lists_them(self, folder: Path) -> None:
        (folder / LITELLM_FILE).unlink()
        assert "gpt-5" in open_catalogs(folder).models("openai")

    @pytest.mark.parametrize("provider", ["", "nobody", "x" * 10_000])
    def test_any_name_can_be_asked_for(self, catalogs: Catalogs, provider: str) -> None:
        assert catalogs.models(provider) == ()

    def test_the_edition_is_the_same_until_something_new_is_known(self, catalogs: Catalogs) -> None:
        first = catalogs.edition
        assert catalogs.layers("openai", "gpt-5")
        assert catalogs.edition is first
        catalogs.note_models("127.0.0.1:8080", LOCAL_LIST)
        second = catalogs.edition
        assert second is not first
        catalogs.note_models("127.0.0.1:8080", LOCAL_LIST)
        assert catalogs.edition is second


class TestLayers:
    def test_each_source_has_its_layer(self, catalogs: Catalogs) -> None:
        layers = catalogs.layers("openai", "gpt-5")
        assert [(layer.source, layer.exact, layer.as_of) for layer in layers] == [
            ("litellm", True, "2026-11-30"),
            ("genai-prices", True, "0.2.3"),
        ]

    def test_what_a_provider_said_of_its_models_is_the_last_layer(self, catalogs: Catalogs) -> None:
        catalogs.note_models("openrouter", OPENROUTER_LIST)
        last = catalogs.layers("openrouter", "openai/gpt-4o-mini")[-1]
        assert (last.source, last.exact, last.as_of) == ("provider", True, "2026-11-30")
        assert last.facts == ModelFacts(max_output_tokens=16_384)

    def test_a_local_server_is_known_by_its_address(self, catalogs: Catalogs) -> None:
        assert catalogs.layers("127.0.0.1:8080", "llama") == ()
        catalogs.note_models("127.0.0.1:8080", LOCAL_LIST)
        (layer,) = catalogs.layers("127.0.0.1:8080", "llama")
        assert layer.facts.context_window == 32_768
        assert catalogs.layers("127.0.0.1:9090", "llama") == ()

    def test_without_any_file_nothing_is_known_and_nothing_is_made(self, empty_folder: Path) -> None:
        assert open_catalogs(empty_folder).layers("openai", "gpt-5") == ()
        assert not empty_folder.exists()

    @pytest.mark.parametrize(
        ("provider", "model"), [("", ""), ("p", "x" * 10_000), ("x" * 10_000, "m"), ("p", "\0/../")]
    )
    def test_any_name_can_be_asked_for(self, catalogs: Catalogs, provider: str, model: str) -> None:
        assert catalogs.layers(provider, model) == ()

    def test_answers_are_kept_within_bounds(self, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_MOST_ANSWERS", 2)
        first = catalogs.layers("openai", "gpt-5")
        assert catalogs.layers("openai", "gpt-5") is first
        for model in ("a", "b", "c"):
            catalogs.layers("openai", model)
        assert catalogs.layers("openai", "gpt-5") == first


class TestNotes:
    def test_what_was_said_is_there_after_a_restart(self, catalogs: Catalogs, folder: Path) -> None:
        catalogs.note_models("127.0.0.1:8080", LOCAL_LIST)
        assert open_catalogs(folder).layers("127.0.0.1:8080", "llama") != ()

    def test_the_same_answer_again_writes_nothing(self, catalogs: Catalogs, folder: Path, clock: Clock) -> None:
        catalogs.note_models("p", LOCAL_LIST)
        (path,) = (folder / REPORTED_FOLDER).iterdir()
        before = path.stat().st_mtime_ns, path.read_bytes()
        clock.now_ms += HOUR_MS
        catalogs.note_models("p", LOCAL_LIST)
        assert (path.stat().st_mtime_ns, path.read_bytes()) == before

    @pytest.mark.parametrize(
        ("provider", "payload"),
        [("p", b"<html>"), ("p", b'{"data": []}'), ("", LOCAL_LIST), ("x" * (LONGEST_NAME + 1), LOCAL_LIST)],
    )
    def test_what_says_nothing_is_not_noted(
        self, catalogs: Catalogs, folder: Path, provider: str, payload: bytes
    ) -> None:
        catalogs.note_models(provider, payload)
        assert not (folder / REPORTED_FOLDER).exists()

    def test_a_list_that_is_too_long_is_not_read(self, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "LARGEST_LIST_BYTES", 10)
        catalogs.note_models("p", LOCAL_LIST)
        assert catalogs.layers("p", "llama") == ()

    def test_a_folder_that_cannot_be_written_costs_memory_only(self, tmp_path: Path) -> None:
        (tmp_path / "cache").write_bytes(b"a file where the folder should be")
        catalogs = open_catalogs(tmp_path / "cache")
        catalogs.note_models("p", LOCAL_LIST)
        assert catalogs.layers("p", "llama") != ()
        assert any("forgotten at the end of this run" in problem for problem in catalogs.problems())

    def test_that_problem_ends_with_the_next_file_written(self, tmp_path: Path) -> None:
        place = tmp_path / "cache"
        place.write_bytes(b"")
        catalogs = open_catalogs(place)
        catalogs.note_models("p", LOCAL_LIST)
        place.unlink()
        catalogs.note_models("q", LOCAL_LIST)
        assert not any("forgotten" in problem for problem in catalogs.problems())

    def test_many_threads_may_tell_and_ask(self, catalogs: Catalogs, folder: Path) -> None:
        def tell(number: int) -> None:
            for model in range(20):
                catalogs.note_models(f"p{number}", b'{"data": [{"id": "m%d", "context_length": 4096}]}' % model)
                assert catalogs.layers(f"p{number}", f"m{model}") != ()
                catalogs.reload()

        threads = [threading.Thread(target=tell, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        again = open_catalogs(folder)
        assert all(again.layers(f"p{number}", f"m{model}") for number in range(6) for model in range(20))


class TestOrders:
    def test_fresh_files_need_nothing(self, catalogs: Catalogs) -> None:
        assert catalogs.find_orders() == ()
        assert catalogs.problems() == ()
        assert catalogs.age_ms() == 0

    def test_where_nothing_is_yet_local_work_comes_first(self, empty_folder: Path, clock: Clock) -> None:
        catalogs = open_catalogs(empty_folder, clock=clock)
        orders = catalogs.find_orders(address="http://127.0.0.1/x", proxy="http://proxy")
        assert orders == (
            Order(source="genai-prices", cache_dir=str(empty_folder)),
            Order(source="litellm", cache_dir=str(empty_folder), address="http://127.0.0.1/x", proxy="http://proxy"),
        )
        assert catalogs.age_ms() is None

    def test_a_catalogue_is_fetched_again_when_it_is_old_enough(self, folder: Path, clock: Clock) -> None:
        catalogs = open_catalogs(folder, refresh_hours=6, clock=clock)
        clock.now_ms += 6 * HOUR_MS - 1
        assert catalogs.find_orders() == ()
        clock.now_ms += 1
        assert [order.source for order in catalogs.find_orders()] == ["litellm"]

    def test_switched_off_nothing_is_ever_fetched(self, empty_folder: Path, clock: Clock) -> None:
        catalogs = open_catalogs(empty_folder, refresh=False, clock=clock)
        assert [order.source for order in catalogs.find_orders()] == ["genai-prices"]
        assert "There is no copy of LiteLLM's catalogue: models.refresh is off." in catalogs.problems()

    def test_another_version_of_genai_prices_is_read_anew(
        self, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "find_version", lambda: "0.3.0")
        assert [order.source for order in catalogs.find_orders()] == ["genai-prices"]

    def test_prices_are_read_anew_on_the_day_on_which_they_change(self, folder: Path, clock: Clock) -> None:
        path = folder / GENAI_FILE
        path.write_bytes(
            path.read_bytes().replace(b'"format": 1', f'"format": 1, "valid_until_ms": {NOW_MS + 1}'.encode())
        )
        catalogs = open_catalogs(folder, clock=clock)
        assert catalogs.find_orders() == ()
        clock.now_ms += 1
        assert [order.source for order in catalogs.find_orders()] == ["genai-prices"]

    def test_what_failed_is_told_and_tried_again_after_an_hour(self, catalogs: Catalogs, clock: Clock) -> None:
        clock.now_ms += 24 * HOUR_MS
        (order,) = catalogs.find_orders()
        catalogs.take(order, Outcome(failure="The sky fell."))
        assert catalogs.problems() == (
            "LiteLLM's catalogue could not be renewed, the copy of 2026-11-30 is used. The sky fell.",
        )
        assert catalogs.layers("openai", "gpt-5") != ()
        clock.now_ms += HOUR_MS - 1
        assert catalogs.find_orders() == ()
        clock.now_ms += 1
        assert catalogs.find_orders() == (order,)
        catalogs.take(order, Outcome())
        assert catalogs.problems() == ()

    def test_a_failure_of_either_source_says_what_is_used_instead(self, tmp_path: Path, catalogs: Catalogs) -> None:
        without = open_catalogs(tmp_path / "elsewhere")
        for order in without.find_orders():
            without.take(order, Outcome(failure="No."))
        assert without.problems() == (
            "LiteLLM's catalogue could not be renewed, there is no copy yet. No.",
            "The data of genai-prices could not be read anew, there are none yet. No.",
        )
        catalogs.take(Order(source="genai-prices", cache_dir=""), Outcome(failure="No."))
        assert catalogs.problems() == ("The data of genai-prices could not be read anew, those of 0.2.3 are used. No.",)

    def test_a_catalogue_that_was_not_renewed_for_long_is_a_problem(self, catalogs: Catalogs, clock: Clock) -> None:
        clock.now_ms += 3 * 24 * HOUR_MS + 1
        assert catalogs.problems() == ("LiteLLM's catalogue was not renewed since 2026-11-30.",)

    def test_a_clock_that_was_set_back_makes_no_negative_age(self, catalogs: Catalogs, clock: Clock) -> None:
        clock.now_ms -= HOUR_MS
        assert catalogs.age_ms() == 0

    def test_new_files_are_read_when_an_order_is_done(self, folder: Path) -> None:
        (folder / LITELLM_FILE).rename(folder / "aside")
        catalogs = open_catalogs(folder)
        (folder / "aside").rename(folder / LITELLM_FILE)
        assert [layer.source for layer in catalogs.layers("openai", "gpt-5")] == ["genai-prices"]
        catalogs.take(Order(source="litellm", cache_dir=str(folder)), Outcome())
        assert [layer.source for layer in catalogs.layers("openai", "gpt-5")] == ["litellm", "genai-prices"]


class TestNow:
    def test_a_command_distils_genai_prices_once(self, empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "find_version", find_version)
        catalogs = load_now(empty_folder)
        assert [layer.source for layer in catalogs.layers("openai", "gpt-4o")] == ["genai-prices"]
        written = (empty_folder / GENAI_FILE).stat().st_mtime_ns
        assert load_now(empty_folder).layers("openai", "gpt-4o") != ()
        assert (empty_folder / GENAI_FILE).stat().st_mtime_ns == written

    def test_a_folder_that_cannot_be_written_is_no_obstacle(self, tmp_path: Path) -> None:
        (tmp_path / "cache").write_bytes(b"")
        assert load_now(tmp_path / "cache").layers("openai", "gpt-4o") != ()

    def test_without_the_package_the_command_goes_on(self, empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(now_ms: int) -> None:
            raise InputError("genai-prices cannot be used.")

        monkeypatch.setattr(module, "make_genai", missing)
        assert "genai-prices cannot be used." in load_now(empty_folder).problems()[-1]
