"""The extractive generator: a LangChain chat model that quotes the evidence of its prompt or refuses (contract R4-9).

It sees only the prompt, calls no network, and always gives the same answer to the same prompt. It is the keyless
default, and the baseline of the tests. With the weights of MiniLM, a small network also reads which of the sentences
answers; without them, only their words count.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from sourcebound.contracts.execution.call import Call
from sourcebound.contracts.execution.reply import Reply, ReplyEnding
from sourcebound.contracts.extractive.answer import answer
from sourcebound.contracts.extractive.pieces.lists import NEGATES
from sourcebound.contracts.extractive.pieces.quotes import strip_list_marker
from sourcebound.contracts.extractive.reading import Reader
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.facts import model_choice as relevant_facts
from sourcebound.contracts.prompt import fact_choice
from sourcebound.contracts.prompt.answer_sentences import MAX_SENTENCES, PROFILE, write
from sourcebound.contracts.prompt.build import REFUSAL, EvidencePart, Message, PromptParts, read_prompt
from sourcebound.models.backend import NO_STREAM, read_reply, to_langchain
from sourcebound.models.embedders.minilm import find_weights

MODEL_NAME = "extractive"


class ExtractiveChatModel(BaseChatModel):
    """Quotes sentences of the evidence, each with its anchor, or refuses in the exact words.

    If the prompt asks for a choice of facts (R3-9), it names those that it would quote.
    """

    reader: Any = None
    """Reads sentences with the question (`Reader`); only words count without it."""

    @property
    def _llm_type(self) -> str:
        return MODEL_NAME

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        roles = {"system": "system", "human": "user"}
        prompt = [Message.model_validate({"role": roles[m.type], "content": m.text}) for m in messages]
        parts = read_prompt(prompt)
        requirements = parts.sections.get("OUTPUT REQUIREMENTS", "")
        if fact_choice.PROFILE in requirements:
            text = _choose_facts(parts, self.reader)
        else:
            chosen = answer(parts, self.reader)
            text = _write_answer(chosen, as_json=PROFILE in requirements) if chosen else REFUSAL
        metadata = {"model_name": MODEL_NAME, "finish_reason": "stop"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text, response_metadata=metadata))])


class ExtractiveBackend:
    """The extractive chat model as a backend. It has no server and no faults."""

    faults: tuple[type[Exception], ...] = ()
    timeouts: tuple[type[Exception], ...] = ()

    def __init__(self) -> None:
        self._model = ExtractiveChatModel(reader=open_reader())

    async def send(self, call: Call, messages: Sequence[Message]) -> Reply:
        """Run the chat model."""
        message = await self._model.ainvoke(to_langchain(messages), NO_STREAM)
        return read_reply(message, ReplyEnding.COMPLETE, "stop")

    async def close(self) -> None:
        """Do nothing: there are no connections."""


def open_reader() -> Reader | None:
    """Return the reader of this process; None if the weights of MiniLM are not installed."""
    if find_weights() is None:
        return None
    from sourcebound.models.sentence_reader import shared_reader

    return shared_reader()


def _choose_facts(parts: PromptParts, reader: Reader | None) -> str:
    """Choose the facts of a prompt that its answer would quote, each with the first quoted sentence."""
    rows = relevant_facts.read_rows(parts.sections["EVIDENCE"])
    evidence = tuple(EvidencePart(f"C{number}", row.pdf, row.quote) for number, row in enumerate(rows))
    quotes: dict[int, str] = {}
    chosen = answer(parts._replace(evidence=evidence), reader)
    for sentence in (each for each in chosen if not each.leads or NEGATES.search(each.text)):
        quotes.setdefault(int(sentence.anchor[1:]), sentence.text)
    return relevant_facts.write_choice(
        [rows[number].model_copy(update={"quote": quote}) for number, quote in quotes.items()]
    )


def _write_answer(chosen: Sequence[Sentence], *, as_json: bool) -> str:
    """Write the chosen sentences in the output format of the prompt. JSON has no list markers."""
    if as_json:
        rows = [(strip_list_marker(each.text), each.anchor) for each in chosen]
        return write(rows[:MAX_SENTENCES], "Medium")
    return "\n".join(f"{sentence.text} [{sentence.anchor}]" for sentence in chosen)
