"""Chat messages, plain JSON in which a chat asks a question and receives its answer (contract CP-1).

A chat host (LangGraph Studio's chat, A2A) sends `{"messages": [{"role": "user", "content": …}]}`. The last message is
the question, and the public response is appended as another one. Earlier messages serve to complete a follow-up (CP-6).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sourcebound.contracts.outcome import RefusalCode, Status
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.response.public import PublicResponse

Message = dict[str, Any]
HUMAN: Final = "human"
ANSWER: Final = "ai"
TYPES: Final = {"user": HUMAN, "human": HUMAN, "assistant": ANSWER, "ai": ANSWER, "system": "system"}
"""The `type` under which a message is stored, by the role or type that a host sends."""


class EarlierQuestion(NamedTuple):
    """A question of a chat that was asked before."""

    message_id: str
    question: str
    status: Status | None
    """The outcome of its run; None if it has no answer."""
    search_query: str | None
    """The search query to which it was resolved."""


def merge_messages(current: list[Message] | None, update: Message | list[Message]) -> list[Message]:
    """Reduce the `messages` channel: add new messages and replace those with a known id.

    Args:
        current: The conversation so far.
        update: One message or several, each `{"role" or "type": …, "content": …}`, with or without an `id`.

    Returns:
        The conversation. Every message has an id that never changes: the sender's, or one made from its position.

    Raises:
        ValueError: A message is not an object, its role is unknown, or it has no content.
    """
    by_id = {str(message["id"]): message for message in current or ()}
    for message in update if isinstance(update, list) else [update]:
        normalized = _normalize(message)
        name = str(normalized.get("id") or _free_id(by_id))
        by_id[name] = {**normalized, "id": name}
    return list(by_id.values())


def question_of(request: Mapping[str, Any]) -> object:
    """Return the question of a request: its `question` if there is one, otherwise its last message from a person.

    Args:
        request: The graph's input.

    Returns:
        The unchecked value, of any type; None if there is no question.
    """
    return _text_of(request["messages"][-1]) if is_chat(request) else request.get("question")


def is_chat(request: Mapping[str, Any]) -> bool:
    """Return whether the question is in a message, so that the answer must be in one too."""
    if request.get("question") is not None or request.get("retrieval_bundle") is not None:
        return False
    messages = request.get("messages") or []
    return bool(messages) and messages[-1]["type"] == HUMAN


def earlier_questions(messages: Sequence[Message]) -> list[EarlierQuestion]:
    """Return the questions of a chat before its last one, the latest first (CP-6).

    Args:
        messages: The chat, as `merge_messages` returns it.

    Returns:
        Each question of a person with the outcome that its answer names. An answer of another host without our
        `response_metadata` counts as an answer, unless it is the refusal; a question without an answer, as unfinished.
    """
    asked = [number for number, message in enumerate(messages) if message["type"] == HUMAN]
    ends = [*asked[1:], len(messages)]
    found = [
        _earlier_question(messages[start], messages[start + 1 : end])
        for start, end in zip(asked[:-1], ends, strict=False)
    ]
    return found[::-1]


def _earlier_question(message: Message, replies: Sequence[Message]) -> EarlierQuestion:
    answers = [reply for reply in replies if reply["type"] == ANSWER]
    metadata = answers[-1].get("response_metadata") if answers else None
    fields = metadata if isinstance(metadata, Mapping) else {}
    status, query = fields.get("status"), fields.get("search_query")
    if status not in [*Status]:
        refused = bool(answers) and _text_of(answers[-1]).startswith(REFUSAL)
        status = (Status.NO_EVIDENCE if refused else Status.OK) if answers else None
    return EarlierQuestion(
        message_id=str(message["id"]),
        question=_text_of(message),
        status=status and Status(status),
        search_query=query if isinstance(query, str) else None,
    )


def answer_message(response: PublicResponse) -> Message:
    """Return the public response as a message (R6-3 … R6-5).

    Args:
        response: The released response.

    Returns:
        The answer or the refusal, byte for byte; for an unclear follow-up, the request for the whole question; for a
        failed run, its code and message. The rest of the response is under `response_metadata`.
    """
    content = response.answer
    if response.status is Status.FAILED:
        content = f"{response.failure_code}: {response.message}"
    elif response.refusal_code is RefusalCode.UNCLEAR_FOLLOW_UP:
        content = f"{response.message[0].upper()}{response.message[1:]}."
    metadata = response.model_dump(mode="json", exclude={"answer"})
    return {
        "type": ANSWER,
        "id": f"answer-{response.run_id}",
        "content": content,
        "response_metadata": metadata,
    }


def _normalize(message: object) -> Message:
    """Return a message of any host with our `type` instead of its role; its other fields are retained."""
    fields = message if isinstance(message, Mapping) else {}
    message_type = TYPES.get(str(fields.get("type") or fields.get("role")))
    if message_type is None or not isinstance(fields.get("content"), str | list):
        raise ValueError('a message is an object such as {"role": "user", "content": "…"}')
    return {"type": message_type, **{name: value for name, value in fields.items() if name not in ("type", "role")}}


def _text_of(message: Message) -> str:
    """Return the text of a message; empty if it has any other content, because a question can only be text."""
    content = message["content"]
    blocks = [content] if isinstance(content, str) else content
    texts = [block if isinstance(block, str) else _block_text(block) for block in blocks]
    return "\n".join(text for text in texts if text is not None) if None not in texts else ""


def _free_id(by_id: Mapping[str, Message]) -> str:
    number = len(by_id)
    while f"message-{number}" in by_id:
        number += 1
    return f"message-{number}"


def _block_text(block: object) -> str | None:
    text = block.get("text") if isinstance(block, Mapping) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None
