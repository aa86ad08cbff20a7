"""The model registry: what is known of a model, ours and the user's, and what is assumed where nothing is."""

from pathlib import Path
from typing import Any

import pytest

from sourcebound.contracts.execution.model_profile import ModelProfile, Wire, check_window, context_tokens
from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.errors import ConfigurationError
from sourcebound.models.profiles import Registry
from sourcebound.models.registry import Models, describe_unknown
from sourcebound.settings import Settings
from support.builders import policy

SHIPPED_MODELS = [profile.name for profile in Registry().profiles]


def _registry(folder: Path, text: str, *, own_server: bool = False) -> Registry:
    path = folder / "models.toml"
    path.write_text(text, "utf-8")
    return Registry(path, own_server=own_server)


def _values(profile: ModelProfile) -> dict[str, Any]:
    return profile.model_dump(exclude={"model", "known"})


@pytest.mark.contract("R4-2")
def test_every_shipped_profile_is_valid_and_known() -> None:
    assert len(SHIPPED_MODELS) == len(set(SHIPPED_MODELS)) > 15
    assert {"extractive", "openai:gpt-4.1-mini", "ollama:llama3.2:3b"} <= {*SHIPPED_MODELS}
    for name in SHIPPED_MODELS:
        profile = Registry().find(name)
        assert (profile.name, profile.known, profile.base_url, profile.reported_names) == (name, True, None, ())
        assert profile.timeout_seconds < profile.budget_seconds or profile.max_requests == 1


@pytest.mark.contract("R4-6")
@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_every_shipped_profile_can_hold_every_shipped_policy(name: str) -> None:
    assert [check_window(Registry().find(name), load_shipped_policy(each)) for each in SHIPPED] == [None] * len(SHIPPED)


@pytest.mark.contract("R4-2")
def test_the_wire_goes_with_the_provider() -> None:
    wires = {profile.provider: profile.wire for profile in Registry().profiles}
    assert wires == {"extractive": Wire.BUILT_IN, "openai": Wire.RESPONSES, "ollama": Wire.OLLAMA_CHAT}


@pytest.mark.contract("R4-4")
def test_only_reasoning_models_are_shipped_without_a_temperature() -> None:
    without = {profile.model for profile in Registry().profiles if profile.temperature == "unsupported"}
    assert without == {"gpt-5", "gpt-5-mini", "gpt-5-nano", "o3", "o4-mini"}


@pytest.mark.contract("R4-4")
def test_an_unknown_model_has_its_providers_conservative_values_and_says_so() -> None:
    profile = Registry().find("openai:gpt-9")
    assert (profile.known, profile.model, profile.wire, profile.context_window) == (False, "gpt-9", "responses", 8192)
    assert (profile.temperature, profile.seed, profile.structured_output) == ("zero", False, False)
    notice = describe_unknown(profile)
    for words in ("openai:gpt-9", "responses", "8192", "temperature 0", "no seed", "no JSON schema", "MODELS_FILE"):
        assert words in notice
    ollama = Registry().find("ollama:seal:7b")
    assert (ollama.known, ollama.model, ollama.name) == (False, "seal:7b", "ollama:seal:7b")
    assert "a seed, a JSON schema" in describe_unknown(ollama)


@pytest.mark.contract("R4-2")
def test_a_server_of_ones_own_is_asked_in_the_older_api_unless_a_profile_says_otherwise(tmp_path: Path) -> None:
    own = _registry(tmp_path, '[models."openai:seal"]\nwire = "responses"', own_server=True)
    wires = {name: own.find(f"openai:{name}").wire for name in ("gpt-9", "seal", "gpt-4.1")}
    assert wires == {"gpt-9": "chat_completions", "seal": "responses", "gpt-4.1": "responses"}
    assert own.find("ollama:seal").wire == "ollama_chat"


@pytest.mark.contract("R4-2")
@pytest.mark.parametrize(
    ("url", "wire"),
    [(None, "responses"), ("https://api.openai.com/v1/", "responses"), ("http://127.0.0.1:1/v1", "chat_completions")],
)
def test_the_settings_say_whose_server_it_is(url: str | None, wire: str) -> None:
    assert Models(Settings(openai_base_url=url)).profile("openai:gpt-9").wire == wire


@pytest.mark.contract("R4-2")
def test_a_file_of_ones_own_adds_models_and_replaces_ours(tmp_path: Path) -> None:
    registry = _registry(
        tmp_path,
        '[models."openai:seal"]\nbase_url = "http://seal/v1"\ncontext_window = 4300\n'
        '[models."openai:gpt-4.1"]\ncontext_window = 5000',
    )
    added, replaced = registry.find("openai:seal"), registry.find("openai:gpt-4.1")
    assert (added.base_url, added.context_window, added.known) == ("http://seal/v1", 4300, True)
    assert (added.wire, added.structured_output) == ("responses", False)
    # A table of ours is replaced whole, not mixed with the user's.
    assert (replaced.context_window, replaced.structured_output) == (5000, False)
    assert registry.find("openai:gpt-4o") == Registry().find("openai:gpt-4o")
    assert {profile.name for profile in registry.profiles} == {*SHIPPED_MODELS, "openai:seal"}


@pytest.mark.contract("R4-5")
def test_the_defaults_of_a_provider_can_be_overridden_one_by_one(tmp_path: Path) -> None:
    registry = _registry(tmp_path, "[providers.ollama]\ntimeout_seconds = 5\nmax_requests = 1")
    for name in ("ollama:seal", "ollama:llama3.2:3b"):
        expected = {**_values(Registry().find(name)), "timeout_seconds": 5.0, "max_requests": 1}
        assert _values(registry.find(name)) == expected
    assert registry.find("openai:gpt-4.1") == Registry().find("openai:gpt-4.1")
    assert _values(_registry(tmp_path, "").find("ollama:seal")) == _values(Registry().find("ollama:seal"))


NO_PROFILE = {
    "unknown key": '[models."openai:m"]\ntemprature = "zero"',
    "wrong type": '[models."openai:m"]\ncontext_window = "many"',
    "no window": '[models."openai:m"]\ncontext_window = 0',
    "another temperature": '[models."openai:m"]\ntemperature = 0.7',
    "unknown wire": '[models."openai:m"]\nwire = "telepathy"',
    "no time": '[models."openai:m"]\ntimeout_seconds = 0',
    "no request": '[models."openai:m"]\nmax_requests = 0',
    "too many requests": '[models."openai:m"]\nmax_requests = 11',
    "whole tolerance": '[models."openai:m"]\ntokenizer_tolerance = 1.0',
    "unknown provider": '[models."azure:m"]\nseed = true',
    "key of a provider": '[providers.openai]\ncolour = "red"',
    "other table": '[server.openai]\nurl = "x"',
    "other value": "models = 3",
    "value for a table": '[models]\n"openai:m" = 3',
    "providers as a list": "providers = [1]",
}


@pytest.mark.contract("R4-4")
@pytest.mark.parametrize("name", NO_PROFILE)
def test_what_is_no_profile_is_refused_before_anything_runs(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _registry(tmp_path, NO_PROFILE[name])
    assert caught.value.failure_code == "INVALID_PROFILE"
    assert "models.toml" in caught.value.message
    assert caught.value.next_step


def test_the_message_names_the_model_and_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"profile of openai:m in .*: temprature: "):
        _registry(tmp_path, NO_PROFILE["unknown key"])


@pytest.mark.parametrize("content", [b"[models", b"\xff\xfe", b"models = ", b'[models."a"]\nx = 1\nx = 2'])
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "models.toml"
    path.write_bytes(content)
    _assert_unreadable(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    _assert_unreadable(tmp_path / "none.toml")
    _assert_unreadable(tmp_path)


def _assert_unreadable(path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Models(Settings(models_file=path))
    assert caught.value.failure_code == "BAD_CONFIGURATION"
    assert str(path) in caught.value.message
    assert "None" not in caught.value.message
    assert "SOURCEBOUND_MODELS_FILE" in caught.value.next_step


@pytest.mark.contract("R4-2")
@pytest.mark.parametrize("name", ["", "gpt-4.1", "openai", "openai:", "ollama:", "azure:m", "extractive:m", "OpenAI:m"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Registry().find(name)
    assert caught.value.failure_code == "UNKNOWN_MODEL"
    assert repr(name) in caught.value.message
    assert "openai:MODEL" in caught.value.next_step


@pytest.mark.contract("R4-6")
def test_a_window_must_hold_the_prompt_budget_and_the_output() -> None:
    chosen = policy(prompt={"max_total_prompt_tokens": 3500, "reserved_output_tokens": 800})
    profile = Registry().find("openai:gpt-9")
    assert context_tokens(chosen) == 4300
    assert check_window(profile.model_copy(update={"context_window": 4300}), chosen) is None
    assert check_window(profile.model_copy(update={"context_window": None}), chosen) is None
    problem = check_window(profile.model_copy(update={"context_window": 4299}), chosen)
    assert problem == "the context window of openai:gpt-9 is 4299 tokens and R2_POLICY_V1 needs 4300"


@pytest.mark.contract("R4-6")
def test_a_model_with_too_small_a_window_is_refused_with_a_next_step(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text('[models."openai:small"]\ncontext_window = 4299\n[models."openai:enough"]\ncontext_window = 4300')
    models = Models(Settings(models_file=path))
    models.check("openai:enough", policy())
    with pytest.raises(ConfigurationError, match="4299 tokens and R2_POLICY_V1 needs 4300") as caught:
        models.check("openai:small", policy())
    assert caught.value.failure_code == "CONTEXT_WINDOW"
    assert "smaller budget" in caught.value.next_step
