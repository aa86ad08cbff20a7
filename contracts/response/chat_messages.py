"""Messages: the form in which a chat asks a question and gets its answer, as plain JSON (contract CP-1).

A host that speaks in messages (LangGraph Studio's chat, A2A) sends `{"messages": [{"role": "user", "content": …}]}`.
The last one is the question; the public response comes back as one more. Nothing else of a run is read from a message.
"""

from collections.abc import Mapping
from typing import Any, Final

from sourcebound.contracts.outcome import Status
from sourcebound.contracts.response.public import PublicResponse

Message = dict[str, Any]
HUMAN: Final = "human"
ANSWER: Final = "ai"
TYPES: Final = {"user": HUMAN, "human": HUMAN, "assistant": ANSWER, "ai": ANSWER, "system": "system"}
"""Who speaks, by the names that hosts use; each message is kept under one `type`."""


def keep_messages(current: list[Message] | None, update: Message | list[Message]) -> list[Message]:
    """Reducer of the `messages` channel: adds messages, and replaces those whose id is there already.

    Args:
        current: The conversation so far.
        update: One message or several, each `{"role" or "type": …, "content": …}`, with an `id` or without.

    Returns:
        The conversation with every message under an id, which never changes: the sender's own, or its place.

    Raises:
        ValueError: A message is no object, or nobody is known to speak it.
    """
    kept = {str(message["id"]): message for message in current or ()}
    for message in update if isinstance(update, list) else [update]:
        read = _read(message)
        name = str(read.get("id") or _free_id(kept))
        kept[name] = {**read, "id": name}
    return list(kept.values())


def question_of(request: Mapping[str, Any]) -> object:
    """The question that a request asks: `question` where it is given, else the last message, if a person wrote it.

    Args:
        request: The graph's input.

    Returns:
        What stands there, of whatever type; None where nothing is asked.
    """
    return _text_of(request["messages"][-1]) if is_chat(request) else request.get("question")


def is_chat(request: Mapping[str, Any]) -> bool:
    """Whether the question comes in a message, so that the answer goes back in one."""
    if request.get("question") is not None or request.get("retrieval_bundle") is not None:
        return False
    messages = request.get("messages") or []
    return bool(messages) and messages[-1]["type"] == HUMAN


def answer_message(response: PublicResponse) -> Message:
    """The public response as a message (R6-3 … R6-5).

    Args:
        response: What is released.

    Returns:
        The answer or the refusal, byte for byte; where the run failed, its code and why. The rest of the response is
        beside it, under `response_metadata`.
    """
    failed = response.status is Status.FAILED
    form = response.model_dump(mode="json", exclude={"answer"})
    return {
        "type": ANSWER,
        "id": f"answer-{response.run_id}",
        "content": f"{response.failure_code}: {response.message}" if failed else response.answer,
        "response_metadata": form,
    }


def _read(message: object) -> Message:
    """A message of any host in our form; what else it carries is kept."""
    stated = message if isinstance(message, Mapping) else {}
    speaker = TYPES.get(str(stated.get("type") or stated.get("role")))
    if speaker is None or not isinstance(stated.get("content"), str | list):
        raise ValueError('a message is an object such as {"role": "user", "content": "…"}')
    return {"type": speaker, **{name: value for name, value in stated.items() if name not in ("type", "role")}}


def _text_of(message: Message) -> str:
    """The text of a message; empty where it holds anything but text, which cannot be answered from."""
    content = message["content"]
    blocks = [content] if isinstance(content, str) else content
    texts = [block if isinstance(block, str) else _block_text(block) for block in blocks]
    return "\n".join(text for text in texts if text is not None) if None not in texts else ""


def _free_id(kept: Mapping[str, Message]) -> str:
    place = len(kept)
    while f"message-{place}" in kept:
        place += 1
    return f"message-{place}"


def _block_text(block: object) -> str | None:
    text = block.get("text") if isinstance(block, Mapping) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None
