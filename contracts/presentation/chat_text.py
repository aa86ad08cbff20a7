"""A response as the message of a chat: numbered sources as footnotes, refusals and failures in words (R6-8)."""

import re
from typing import Final

from sourcebound.contracts.outcome import RefusalCode, Status
from sourcebound.contracts.response.chat_messages import answer_message
from sourcebound.contracts.response.public import PublicCitation, PublicResponse
from sourcebound.contracts.text.citations import CITATION
from sourcebound.contracts.text.sanitize import one_line

MARKUP: Final = re.compile(r"[\[\]<>`]")


def chat_text(response: PublicResponse) -> str:
    """Return the text of a message.

    Args:
        response: A response, whatever its outcome.

    Returns:
        The validated answer with `[1]` for its first source, its footnotes and notices; or the refusal, or the failure,
        with its reason.
    """
    if response.status is Status.OK:
        numbers = {citation.anchor: number for number, citation in enumerate(response.citations, start=1)}
        footnotes = [_footnote(number, each) for number, each in enumerate(response.citations, start=1)]
        parts = [
            CITATION.sub(lambda match: f"[{numbers['C' + match[1]]}]", response.answer),
            "\n".join(footnotes),
        ]
    else:
        parts = [str(answer_message(response)["content"])]
        is_reason_given = response.status is Status.FAILED or response.refusal_code is RefusalCode.UNCLEAR_FOLLOW_UP
        parts += [] if is_reason_given else [_sentence(response.message)]
    notes = [f"Note: {_sentence(notice)}" for notice in response.notices]
    return "\n\n".join(part for part in [*parts, *notes] if part)


def _footnote(number: int, citation: PublicCitation) -> str:
    """Return a source as an item of a list. Its names cannot make a link or an element in the client's Markdown."""
    name = citation.title or citation.source_reference or citation.knowledge_id
    page = f"p. {citation.page_number}" if citation.page_number is not None else ""
    place = " · ".join(part for part in (name, page, citation.section) if part)
    escaped = MARKUP.sub(lambda match: "\\" + match[0], one_line(place))
    return f"- [{number}] {escaped}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) or not text else '.'}"
