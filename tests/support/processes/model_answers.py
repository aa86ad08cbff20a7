"""The answers of the test model servers, in OpenAI's two protocols and Ollama's, well formed or with a fault."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum, auto
from functools import cached_property
from typing import Any
from urllib.parse import unquote

Json = dict[str, Any]

CREATED = 1795000000
UNESCAPED = re.compile("[\u2028\u2029\ud800-\udfff]")


class Fault(StrEnum):
    """The faults that an answer can have."""

    RATE_LIMITED = auto()
    SERVER_ERROR = auto()
    UNAVAILABLE = auto()
    BAD_REQUEST = auto()
    UNAUTHORISED = auto()
    UNKNOWN_MODEL = auto()
    HANG = auto()  # the request is read, and no answer is sent until the server closes
    SLOW_DRIP = auto()  # the headers immediately, then one byte every 50 ms
    RESET_BEFORE = auto()  # the connection is reset before the first byte
    RESET_DURING = auto()  # the same after half of the body
    WRONG_MODEL = auto()
    TRUNCATED_PROMPT = auto()  # far too few prompt tokens are reported
    CUT_STREAM = auto()  # a stream ends early but without an error; any other body is too short
    OUTPUT_CUT = auto()  # half of the text, ended by the limit on tokens
    CONTENT_FILTER = auto()
    FAILED_STATUS = auto()  # HTTP 200 with an error in the body
    INVALID_JSON = auto()
    EMPTY_TEXT = auto()
    HUGE_OUTPUT = auto()
    WRONG_CONTENT_TYPE = auto()  # a web page
    EMPTY_BODY = auto()
    REDIRECT = auto()


REASONS: dict[Fault | None, str] = {Fault.OUTPUT_CUT: "max_output_tokens", Fault.CONTENT_FILTER: "content_filter"}
PLACE: Json = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
STOPS: dict[Fault | None, str] = {Fault.OUTPUT_CUT: "length", Fault.CONTENT_FILTER: "content_filter"}


@dataclass(frozen=True)
class Received:
    """One request. The names of its headers are in lower case, and its body is unchanged."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @cached_property
    def json(self) -> Json:
        body: Json = json.loads(self.body)
        return body

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def key(self) -> str:
        """The bearer key; empty if there is none."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def is_openai(self) -> bool:
        return self.path.startswith("/v1/")

    @property
    def model(self) -> str:
        """The requested model; empty if the body names none."""
        if self.method == "GET":
            return unquote(self.route.removeprefix("/v1/models/"))
        try:
            return str(self.json["model"])
        except (ValueError, LookupError, TypeError):
            return ""

    @property
    def streamed(self) -> bool:
        """Whether the answer must be a stream, which is the default of Ollama."""
        return bool(self.json.get("stream", self.route == "/api/chat"))

    @property
    def prompt(self) -> str:
        """All text that the model receives."""
        messages = self.json.get("messages") or self.json.get("input") or ""
        contents = [messages] if isinstance(messages, str) else [message.get("content") or "" for message in messages]
        parts = [[{"text": content}] if isinstance(content, str) else content for content in contents]
        return str(self.json.get("instructions") or "") + "".join(
            part.get("text", "") for each in parts for part in each
        )


@dataclass(frozen=True)
class Reply:
    """An HTTP answer. The parts of a stream are sent one by one, those of any other answer as one body."""

    parts: Iterable[bytes]
    status: int = 200
    content_type: str = "application/json"
    streamed: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def encoded(value: Json) -> bytes:
    """Return JSON with unescaped letters, except those that would break a line or cannot be sent."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def pieces(text: str) -> list[str]:
    """Split a text as a model would stream it, into at most two hundred pieces."""
    size = max(4, -(-len(text) // 200))
    return [text[start : start + size] for start in range(0, len(text), size)]


@dataclass(frozen=True)
class Turn:
    """The model's answer to one call, independent of the protocol. Each protocol is a subclass."""

    call: Received
    model: str
    text: str
    prompt_tokens: int
    fault: Fault | None

    content_type = "text/event-stream"

    @property
    def output_tokens(self) -> int:
        return -(-len(self.text) // 4)

    def whole(self) -> Json:
        """Return the answer that is not a stream."""
        raise NotImplementedError

    def beginning(self) -> Iterator[Json]:
        """Yield the parts of a stream up to the end of the text."""
        raise NotImplementedError

    def ending(self) -> Iterator[Json]:
        """Yield the parts of a stream that mark it as complete."""
        raise NotImplementedError

    def failure(self) -> Json:
        """Return the part with which a stream fails."""
        return {"error": {"message": "The model failed.", "type": "server_error", "param": None, "code": "failed"}}

    def framed(self, data: bytes, kind: str = "") -> bytes:
        """Return one part of the stream as it is sent."""
        return (f"event: {kind}\n".encode() if kind else b"") + b"data: " + data + b"\n\n"

    def parts(self) -> Iterator[Json]:
        """Yield the parts of the stream, up to the fault."""
        yield from self.beginning()
        if self.fault is Fault.FAILED_STATUS:
            yield self.failure()
        elif self.fault not in (Fault.CUT_STREAM, Fault.INVALID_JSON):
            yield from self.ending()

    def stream(self) -> Iterator[bytes]:
        """Yield the stream as it is sent."""
        yield from (self.framed(encoded(part), part.get("type", "")) for part in self.parts())
        if self.fault is Fault.INVALID_JSON:
            yield self.framed(encoded(self.whole())[:-9])

    def body(self) -> bytes:
        """Return the answer that is not a stream, as it is sent."""
        answer = encoded(self.whole())
        return answer[:-9] if self.fault is Fault.INVALID_JSON else answer

    def reply(self) -> Reply:
        if self.call.streamed:
            return Reply(self.stream(), content_type=self.content_type, streamed=True)
        return Reply([self.body()])


class ResponsesTurn(Turn):
    """OpenAI's Responses protocol."""

    def _message(self, status: str, *content: Json) -> Json:
        return {"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": list(content)}

    def _text(self, text: str) -> Json:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _response(self, status: str, *output: Json) -> Json:
        return {
            "id": "resp_0123456789abcdef",
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": {"code": "server_error", "message": "The model failed."} if status == "failed" else None,
            "incomplete_details": {"reason": REASONS[self.fault]} if self.fault in REASONS else None,
            "instructions": self.call.json.get("instructions"),
            "max_output_tokens": self.call.json.get("max_output_tokens"),
            "metadata": {},
            "model": self.model,
            "output": list(output),
            "parallel_tool_calls": True,
            "temperature": self.call.json.get("temperature", 1.0),
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": None,
        }

    def whole(self) -> Json:
        if self.fault is Fault.FAILED_STATUS:
            return self._response("failed")
        status = "incomplete" if self.fault in REASONS else "completed"
        usage = {
            "input_tokens": self.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.prompt_tokens + self.output_tokens,
        }
        return {**self._response(status, self._message(status, self._text(self.text))), "usage": usage}

    def beginning(self) -> Iterator[Json]:
        started = {**self._response("in_progress"), "incomplete_details": None}
        yield {"type": "response.created", "response": started}
        yield {"type": "response.in_progress", "response": started}
        yield {"type": "response.output_item.added", "output_index": 0, "item": self._message("in_progress")}
        yield {"type": "response.content_part.added", **PLACE, "part": self._text("")}
        for piece in pieces(self.text):
            yield {"type": "response.output_text.delta", **PLACE, "delta": piece, "logprobs": []}

    def ending(self) -> Iterator[Json]:
        whole = self.whole()
        yield {"type": "response.output_text.done", **PLACE, "text": self.text, "logprobs": []}
        yield {"type": "response.content_part.done", **PLACE, "part": self._text(self.text)}
        yield {"type": "response.output_item.done", "output_index": 0, "item": whole["output"][0]}
        yield {"type": f"response.{whole['status']}", "response": whole}

    def failure(self) -> Json:
        return {"type": "response.failed", "response": self._response("failed")}

    def parts(self) -> Iterator[Json]:
        yield from ({**part, "sequence_number": number} for number, part in enumerate(super().parts()))


class CompletionsTurn(Turn):
    """OpenAI's chat completions, which many other servers speak too."""

    def _usage(self) -> Json:
        total = self.prompt_tokens + self.output_tokens
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.output_tokens, "total_tokens": total}

    def _completion(self, kind: str, *choices: Json) -> Json:
        start = {"id": "chatcmpl-0123456789abcdef", "object": kind, "created": CREATED, "model": self.model}
        return {**start, "choices": list(choices)}

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._counts() else {}
        return {**self._completion("chat.completion.chunk", choice), **usage}

    def _counts(self) -> bool:
        """Return whether the stream must end with its usage."""
        return bool((self.call.json.get("stream_options") or {}).get("include_usage"))

    def whole(self) -> Json:
        if self.fault is Fault.FAILED_STATUS:
            return self.failure()
        message: Json = {"role": "assistant", "content": self.text, "refusal": None, "annotations": []}
        finish = STOPS.get(self.fault, "stop")
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        return {**self._completion("chat.completion", choice), "usage": self._usage()}

    def beginning(self) -> Iterator[Json]:
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})
        yield from (self._chunk({"content": piece}) for piece in pieces(self.text))

    def ending(self) -> Iterator[Json]:
        yield self._chunk({}, STOPS.get(self.fault, "stop"))
        if self._counts():
            yield {**self._completion("chat.completion.chunk"), "usage": self._usage()}

    def stream(self) -> Iterator[bytes]:
        yield from super().stream()
        if self.fault not in (Fault.CUT_STREAM, Fault.INVALID_JSON, Fault.FAILED_STATUS):
            yield self.framed(b"[DONE]")


class OllamaTurn(Turn):
    """Ollama's chat. Ollama has no content filter, so the stop reason for one is not a value of Ollama."""

    content_type = "application/x-ndjson"

    def _line(self, text: str, **rest: Any) -> Json:
        message = {"role": "assistant", "content": text}
        return {
            "model": self.model,
            "created_at": "2026-11-18T09:30:00.123456789Z",
            "message": message,
            "done": False,
            **rest,
        }

    def _last(self, text: str) -> Json:
        return self._line(
            text,
            done=True,
            done_reason=STOPS.get(self.fault, "stop"),
            total_duration=5_000_000,
            load_duration=1_000_000,
            prompt_eval_count=self.prompt_tokens,
            prompt_eval_duration=2_000_000,
            eval_count=self.output_tokens,
            eval_duration=2_000_000,
        )

    def whole(self) -> Json:
        return self.failure() if self.fault is Fault.FAILED_STATUS else self._last(self.text)

    def beginning(self) -> Iterator[Json]:
        yield from (self._line(piece) for piece in pieces(self.text))

    def ending(self) -> Iterator[Json]:
        yield self._last("")

    def failure(self) -> Json:
        return {"error": "an error was encountered while running the model"}

    def framed(self, data: bytes, kind: str = "") -> bytes:
        return data + b"\n"


TURNS: dict[str, type[Turn]] = {
    "/v1/responses": ResponsesTurn,
    "/v1/chat/completions": CompletionsTurn,
    "/api/chat": OllamaTurn,
}
