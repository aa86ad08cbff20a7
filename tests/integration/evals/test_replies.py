"""R3: the written prompts are those that a model would receive."""

from pathlib import Path

import pytest

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.evals.natural.questions import HELD
from sourcebound.evals.replies.prompts import Prompted, show, write_prompts

POLICY = load_shipped_policy("SOURCEBOUND_V2")


@pytest.mark.contract("R3-1")
async def test_prompts_are_written_with_the_evidence_that_they_show(tmp_path: Path) -> None:
    written = await write_prompts(tmp_path, ["languages"], tmp_path, 2, 3, HELD, POLICY)
    assert written == {"languages": 2}
    for key in ("languages-000", "languages-001"):
        asked = Prompted.model_validate_json((tmp_path / f"{key}.question.json").read_text("utf-8"))
        assert (asked.part, asked.set) == (HELD, "languages")
        messages = build_prompt(asked.bundle, POLICY).prompt.messages
        assert (tmp_path / f"{key}.prompt.txt").read_text("utf-8") == show(messages)


async def test_an_unknown_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="has no set 'nothing'"):
        await write_prompts(tmp_path, ["nothing"], tmp_path, 2, 3, "", POLICY)
