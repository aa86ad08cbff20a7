"""compose.yaml and the Dockerfile name what exists: images with tags, our own settings, our own commands and files."""

import re
from fnmatch import fnmatch
from typing import Any, Final

import pytest
import yaml
from pydantic import AliasChoices
from typer.testing import CliRunner

from sourcebound.cli.main import app
from sourcebound.settings import Settings
from support.places import ROOT

COMPOSE_TEXT: Final = (ROOT / "compose.yaml").read_text("utf-8")
COMPOSE: Final[dict[str, Any]] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: Final[dict[str, dict[str, Any]]] = COMPOSE["services"]
DOCKERFILE: Final = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
OURS: Final = [name for name, service in SERVICES.items() if "build" in service]
REQUIRED: Final = re.compile(r"\$\{[A-Z_]+:\?[^}]+\}")
"""A variable that must be set: there is no default password."""


def settings_names() -> set[str]:
    names = {f"SOURCEBOUND_{field.upper()}" for field in Settings.model_fields}
    for field in Settings.model_fields.values():
        if isinstance(field.validation_alias, AliasChoices):
            names |= {str(choice) for choice in field.validation_alias.choices}
    return names


def test_the_services_are_the_database_the_server_its_tools_and_an_optional_ollama() -> None:
    assert set(SERVICES) == {"database", "migrate", "server", "admin", "ollama"}
    assert OURS == ["migrate", "server", "admin"]
    assert [name for name, service in SERVICES.items() if service.get("profiles")] == ["admin", "ollama"]
    assert SERVICES["database"]["image"].startswith("pgvector/pgvector:pg")


@pytest.mark.parametrize("name", SERVICES)
def test_each_image_has_a_tag(name: str) -> None:
    assert re.fullmatch(r"[a-z/]+:[a-z0-9.]+", SERVICES[name]["image"])


@pytest.mark.parametrize("name", OURS)
def test_each_variable_of_our_services_is_a_setting(name: str) -> None:
    assert set(SERVICES[name]["environment"]) <= settings_names()


def test_each_variable_of_the_image_is_a_setting_or_of_the_system() -> None:
    named = {name for line in re.findall(r"^ENV (.*)$", DOCKERFILE, re.M) for name in re.findall(r"(\w+)=", line)}
    assert named - {"PATH", "PYTHONUNBUFFERED"} <= settings_names()


def test_a_password_is_never_written_down() -> None:
    for service in SERVICES.values():
        for key, value in (service.get("environment") or {}).items():
            if "PASSWORD" in key or "://" in str(value).replace("http://ollama:11434", ""):
                assert REQUIRED.search(value), key
    assert REQUIRED.search(COMPOSE["configs"]["roles"]["content"])


def test_the_server_is_not_the_owner_of_its_tables_and_starts_after_the_migration() -> None:
    server, owner = SERVICES["server"], SERVICES["database"]["environment"]["POSTGRES_USER"]
    assert server["environment"]["DATABASE_URL"].startswith("postgresql://sourcebound_runtime:")
    assert "CREATE ROLE sourcebound_runtime LOGIN" in COMPOSE["configs"]["roles"]["content"]
    assert SERVICES["migrate"]["environment"]["DATABASE_URL"].startswith(f"postgresql://{owner}:")
    assert SERVICES["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert server["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


def test_the_server_is_published_on_this_machine_alone() -> None:
    assert SERVICES["server"]["ports"] == ["127.0.0.1:8080:8080"]
    assert not [name for name, service in SERVICES.items() if service.get("ports") and name != "server"]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("db migrate", ""),
        ("db grant", "sourcebound_runtime"),
        ("doctor", ""),
        ("keys create", "anna"),
        ("ingest", "/documents --collection manuals"),
        ("serve", "--host 0.0.0.0 --workers 2"),
    ],
)
def test_each_command_of_the_files_exists(command: str, arguments: str) -> None:
    in_image = " ".join(re.findall(r'"([^"]+)"', DOCKERFILE.partition("ENTRYPOINT")[2]))
    files = f"{COMPOSE_TEXT} {in_image}".replace('["doctor"]', "doctor")
    assert f"{command} {arguments}".strip() in files
    shown = CliRunner().invoke(app, [*command.split(), "--help"])
    assert shown.exit_code == 0
    assert [word for word in arguments.split() if word.startswith("--") and word not in shown.output] == []


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    copied = [name for line in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.M) for name in line.split()]
    rooms = [folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").is_file() and folder.name != "tests"]
    for name in [*copied, *rooms, "README.md", "LICENSE", "pyproject.toml"]:
        assert (ROOT / name).exists(), name
        assert name == "." or not [pattern for pattern in ignored if fnmatch(name, pattern)], name


def test_the_image_does_not_run_as_root() -> None:
    last = DOCKERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER sourcebound$", last, re.M)
