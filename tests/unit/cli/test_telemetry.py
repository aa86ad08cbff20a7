"""The log of a process of ours: its formats, its levels and the spans that it sends where the environment says so."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sourcebound.settings import Settings
from sourcebound.telemetry import JsonFormatter, TextFormatter, configure_telemetry


def record(message: str, **fields: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, "name": "sourcebound.x", "levelname": "INFO"})
    vars(made).update(fields)
    return made


@contextmanager
def unconfigured() -> Iterator[logging.Logger]:
    """Take the handlers of pytest away, and undo what the configuration sets."""
    root, ours, database = (logging.getLogger(name) for name in ("", "sourcebound", "psycopg"))
    kept = root.handlers[:]
    root.handlers[:] = []
    try:
        yield ours
    finally:
        root.handlers[:] = kept
        for logger in (ours, database):
            logger.setLevel(logging.NOTSET)


def test_a_json_line_is_one_object_whatever_the_message_holds() -> None:
    line = JsonFormatter().format(record('a "quoted"\nline', run_id="run-1", latency_ms=1.5))
    assert "\n" not in line
    shown = json.loads(line)
    assert (shown["message"], shown["run_id"], shown["latency_ms"]) == ('a "quoted"\nline', "run-1", 1.5)
    assert list(shown) == ["time", "level", "logger", "message", "run_id", "latency_ms"]


def test_a_traceback_is_a_field_of_its_json_line_and_follows_its_line_of_text() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        failed = record("broken", run_id="run-1", exc_info=sys.exc_info())
    assert json.loads(JsonFormatter().format(failed))["traceback"].endswith("ValueError: no")
    assert TextFormatter().format(failed).splitlines()[0] == "broken run_id=run-1"


def test_a_line_of_text_ends_with_the_fields_that_have_a_value() -> None:
    assert TextFormatter().format(record("done", run_id="run-1", response_id=None)) == "done run_id=run-1"


@pytest.mark.parametrize(
    ("chosen", "default", "level"),
    [(None, "warning", logging.WARNING), (None, "info", logging.INFO), ("error", "info", logging.ERROR)],
)
def test_the_level_is_that_of_the_settings_or_of_the_command(chosen: str | None, default: str, level: int) -> None:
    settings = Settings.model_validate({"log_level": chosen, "log_format": "json"})
    with unconfigured() as ours:
        configure_telemetry(settings, default)
        assert ours.getEffectiveLevel() == level
        (handler,) = logging.getLogger().handlers
    assert isinstance(handler.formatter, JsonFormatter)


def test_spans_are_sent_where_the_environment_names_a_collector() -> None:
    program = (
        "from sourcebound.settings import Settings\n"
        "from sourcebound.telemetry import configure_telemetry\n"
        "from opentelemetry import trace\n"
        "configure_telemetry(Settings())\n"
        "print(type(trace.get_tracer_provider()).__module__)"
    )
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    for variables, module in (({}, "opentelemetry.trace"), (environment, "opentelemetry.sdk.trace")):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == module


def test_a_collector_without_the_extra_is_named_in_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with unconfigured():
        configure_telemetry(Settings())
    assert "sourcebound[tracing]" in capsys.readouterr().err
