"""A model's replies, kept in a file: a prompt that was answered once is not sent again.

The firewall changes more often than the prompt. With this file an evaluation judges the same texts again in seconds.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from sourcebound.contracts.execution.call import make_call
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModel
from sourcebound.contracts.prompt.build import Prompt
from sourcebound.models.registry import Models
from sourcebound.settings import Settings


class Remembered(BaseModel):
    """One reply and the request that it answers."""

    model_config = ConfigDict(frozen=True)

    key: str
    generation: Generation


def request_key(profile: ModelProfile, prompt: Prompt, policy: Policy) -> str:
    """Return the digest of everything that a deterministic model's reply depends on: the prompt and the parameters."""
    call = make_call(profile, policy).model_dump_json()
    return hashlib.sha256(f"{prompt.prompt_sha256}\n{call}".encode()).hexdigest()


class RememberedModels(Models):
    """The models of a process, whose replies are kept.

    Args:
        settings: The settings of `Models`.
        path: The file, in JSON Lines. A call without a reply is not kept, because the server failed and not the model.
    """

    def __init__(self, settings: Settings, path: Path) -> None:
        super().__init__(settings)
        self._path = path
        self._replies = _read(path)

    async def open(self, name: str) -> AnswerModel:
        """Return the generator of a model, which first looks into the file.

        Args:
            name: The name of the model.

        Raises:
            ConfigurationError: As `Models.open`.
        """
        return _RememberedModel(await super().open(name), self.profile(name), self._replies, self._keep)

    def _keep(self, reply: Remembered) -> None:
        self._replies[reply.key] = reply.generation
        with self._path.open("a", encoding="utf-8") as file:
            file.write(reply.model_dump_json() + "\n")


class _RememberedModel:
    """A generator that answers from the file where it can."""

    def __init__(
        self,
        model: AnswerModel,
        profile: ModelProfile,
        replies: dict[str, Generation],
        keep: Callable[[Remembered], None],
    ) -> None:
        self._model, self._profile, self._replies, self._keep = model, profile, replies, keep

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        key = request_key(self._profile, prompt, policy)
        if key not in self._replies:
            generation = await self._model.generate(prompt, policy)
            if not generation.raw_model_text:
                return generation
            self._keep(Remembered(key=key, generation=generation))
        return self._replies[key]


def _read(path: Path) -> dict[str, Generation]:
    if not path.exists():
        return {}
    lines = path.read_text("utf-8").split("\n")
    replies = [Remembered.model_validate_json(line) for line in lines if line.strip()]
    return {reply.key: reply.generation for reply in replies}
