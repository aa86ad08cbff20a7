"""A run computes the vector of its question once, and no other vector (R1, R4-9)."""

from collections import Counter
from functools import partial
from typing import Any

import pytest

from sourcebound.models import sentence_reader
from sourcebound.models.embedders import minilm
from sourcebound.models.embedders.minilm import shared_minilm
from sourcebound.models.sentence_reader import SentenceReader
from support.embedding import ANSWER, QUESTION, open_engine


class CountingSession:
    """A session that counts the texts it computes, by their tokens."""

    def __init__(self, session: object) -> None:
        self._session = session
        self.computed: Counter[tuple[int, ...]] = Counter()

    def run(self, outputs: list[str], inputs: dict[str, Any]) -> object:
        self.computed[tuple(inputs[minilm.INPUT].tolist())] += 1
        return self._session.run(outputs, inputs)  # type: ignore[attr-defined]


@pytest.mark.contract("R4-9")
async def test_the_question_is_computed_once(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = shared_minilm()
    session = CountingSession(embedder._get_session())
    monkeypatch.setattr(embedder, "_session", session)
    monkeypatch.setattr(sentence_reader, "shared_reader", partial(SentenceReader, embedder))
    async with open_engine(library, embedder) as engine:
        assert (await engine.ask({"question": QUESTION})).answer == ANSWER
    question = (minilm.CLS, *embedder._token_ids(QUESTION), minilm.SEP)
    assert session.computed == {question: 1}
