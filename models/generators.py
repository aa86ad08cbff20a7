"""Generators behind one port: the prompt's bytes go in, the raw text and the provider's own figures come out (R4)."""

from time import perf_counter

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from sourcebound.contracts.execution import AnswerModel, Generation
from sourcebound.contracts.outcome import proceed
from sourcebound.contracts.policy import Policy
from sourcebound.contracts.prompt import Message, Prompt
from sourcebound.errors import ConfigurationError
from sourcebound.models.extractive import MODEL_NAME, ExtractiveChatModel

STAGE = "generate"
KNOWN_MODELS = (MODEL_NAME,)


class ChatGenerator:
    """A LangChain chat model as an `AnswerModel`.

    Args:
        model: The chat model.
        provider: `extractive`, or the name of the provider.
        name: The model's name as it was asked for.
    """

    def __init__(self, model: BaseChatModel, provider: str, name: str) -> None:
        self._model = model
        self._provider = provider
        self._name = name

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        """Sends the prompt as it is and records what comes back (R4-1, R4-8)."""
        started = perf_counter()
        answer = await self._model.ainvoke([_to_langchain(message) for message in prompt.messages])
        metadata = answer.response_metadata
        usage = answer.usage_metadata
        return Generation(
            outcome=proceed(STAGE),
            raw_model_text=answer.text,
            model_name=str(metadata.get("model_name", self._name)),
            provider=self._provider,
            prompt_sha256=prompt.prompt_sha256,
            response_id=metadata.get("id"),
            finish_reason=metadata.get("finish_reason"),
            attempts=1,
            llm_latency_ms=round((perf_counter() - started) * 1000, 3),
            prompt_tokens_actual=usage and usage["input_tokens"],
            completion_tokens_actual=usage and usage["output_tokens"],
            total_tokens_actual=usage and usage["total_tokens"],
        )


def open_answer_model(name: str) -> AnswerModel:
    """The generator of a name.

    Args:
        name: `extractive`.

    Returns:
        The generator.

    Raises:
        ConfigurationError: No generator has that name.
    """
    if name != MODEL_NAME:
        raise ConfigurationError(
            f"there is no model {name!r}.", f"Known models: {', '.join(KNOWN_MODELS)}.", code="UNKNOWN_MODEL"
        )
    return ChatGenerator(ExtractiveChatModel(), MODEL_NAME, MODEL_NAME)


def _to_langchain(message: Message) -> BaseMessage:
    return SystemMessage(message.content) if message.role == "system" else HumanMessage(message.content)
