"""A response as the message of a chat."""

import pytest

from sourcebound.contracts.outcome import FailureCode, RefusalCode, RefusalSource, fail, refuse
from sourcebound.contracts.presentation.chat_text import chat_text
from sourcebound.contracts.prompt.build import REFUSAL
from sourcebound.contracts.response.public import PublicResponse, package_response
from support.builders import SEAL, row, run
from support.recorded_runs import ANSWER, recorded

pytestmark = pytest.mark.contract("R6-8")


def released(**source: object) -> PublicResponse:
    response = PublicResponse.model_validate(recorded(ANSWER, [row(0, chunk_text=SEAL, **source)]).state["response"])
    assert response.status == "OK"
    return response


def test_a_name_of_a_document_makes_no_link_and_no_element() -> None:
    text = chat_text(released(title="[click](http://evil.example)<img src=x>"))
    assert text.splitlines()[2].startswith(r"- [1] \[click\](http://evil.example)\<img src=x\>")


def test_a_source_without_a_title_or_a_page_is_named_by_what_it_has() -> None:
    text = chat_text(released(title=None, source_reference=None, page_number=None, section=None))
    assert text.splitlines()[2] == f"- [1] {row(0)['knowledge_id']}"


def test_notices_follow() -> None:
    response = released().model_copy(update={"notices": ("the policy is a draft",)})
    assert chat_text(response).endswith("\n\nNote: The policy is a draft.")


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (
            refuse("retrieve", RefusalCode.NO_RELEVANT_CONTENT, RefusalSource.GATE, "nothing was found"),
            f"{REFUSAL}\n\nNothing was found.",
        ),
        (
            refuse("resolve", RefusalCode.UNCLEAR_FOLLOW_UP, RefusalSource.GATE, "ask the whole question"),
            "Ask the whole question.",
        ),
        (
            fail("generate", FailureCode.MODEL_TIMEOUT, "the model did not answer in time"),
            "MODEL_TIMEOUT: the model did not answer in time",
        ),
    ],
)
def test_what_is_no_answer_has_its_reason(outcome: object, text: str) -> None:
    assert chat_text(package_response(run(), outcome, None, None, None, 1.0)) == text  # type: ignore[arg-type]
