"""Asks the built-in generator each case, and judges what the firewall releases."""

from collections.abc import Sequence
from typing import Final

from sourcebound.contracts.policy.schema import Policy
from sourcebound.evals.answers.cases import Case
from sourcebound.evals.answers.judging import Judgement, judge
from sourcebound.models.registry import Models
from sourcebound.settings import Settings

MODEL: Final = "extractive"


async def ask(cases: Sequence[Case], policy: Policy) -> list[Judgement]:
    """Generate the answer to each case and judge it."""
    models = Models(Settings())
    try:
        model = await models.open(MODEL)
        return [
            judge(case, await model.generate(case.prompt, policy) if case.is_asked else None, policy) for case in cases
        ]
    finally:
        await models.close()
