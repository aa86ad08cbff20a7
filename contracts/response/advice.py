"""Advice for the reader of a run without an answer (R6-1): one sentence for each code, the same for every run.

The table is frozen with version 2 of the response contract, so that a recorded run gives the same response for ever. It
names no text of a document, no value of the run, and nothing of the operator's (S-5).
"""

from collections.abc import Mapping
from typing import Final

from sourcebound.contracts.outcome import FailureCode, Outcome, RefusalCode

_BUNDLE: Final = "Correct the retrieval bundle where the message says, and send it again."
_FACTS: Final = "Ask again, or ask another model, because this one did not name the facts as required."
_LATER: Final = "Ask again later, or ask another model."
_REJECTED: Final = (
    "Ask again, or ask another model. The rejected text is not released: `sourcebound runs show RUN` names the rule "
    "that it broke."
)
_OPERATOR: Final = "Tell the operator, whose log has the reason. `sourcebound doctor` checks the installation."
ADVICE: Final[Mapping[RefusalCode | FailureCode, str]] = {
    RefusalCode.COLLECTION_NOT_FOUND: (
        "Check the name: `sourcebound collections` lists all. Or ingest documents into the collection."
    ),
    RefusalCode.NO_RELEVANT_CONTENT: (
        "Name the subject as the documents name it, loosen the filters, or ask another collection."
    ),
    RefusalCode.BELOW_SIMILARITY_GATE: (
        "Name the subject as the documents name it, or ask another collection. `sourcebound search QUESTION` shows the "
        "nearest passages."
    ),
    RefusalCode.INSUFFICIENT_SOURCES: (
        "Loosen the filters and limits of the request, or ingest further documents on the subject."
    ),
    RefusalCode.ALL_EVIDENCE_DROPPED: (
        "Loosen the filters and limits of the request. `sourcebound search QUESTION` names the rule that dropped each "
        "passage."
    ),
    RefusalCode.UNCLEAR_FOLLOW_UP: "Ask the whole question again, and name its subject.",
    RefusalCode.NO_RELEVANT_FACTS: "Ask for one thing, in the words of the documents.",
    RefusalCode.MODEL_REFUSED: (
        "Ask for one thing, in the words of the documents, or ask another model. `sourcebound search QUESTION` shows "
        "the passages."
    ),
    RefusalCode.NOT_ANSWERED: (
        "The documents are near the subject and do not say this. Ask for what they say: `sourcebound search QUESTION` "
        "shows the passages."
    ),
    FailureCode.INVALID_REQUEST: "Correct the field that the message names, and ask again.",
    FailureCode.POLICY_INDEX_MISMATCH: (
        "Name a policy that is calibrated for this collection, or calibrate one: `sourcebound calibrate`."
    ),
    FailureCode.RETRIEVAL_FAILED: _OPERATOR,
    FailureCode.CHUNK_ALTERED: (
        "Tell the operator: `sourcebound index check --contents` names what was altered, and a new ingest replaces it."
    ),
    FailureCode.INVALID_SCHEMA: _BUNDLE,
    FailureCode.EMPTY_WITHOUT_STATUS: _BUNDLE,
    FailureCode.INVALID_RANK: _BUNDLE,
    FailureCode.INVALID_SIMILARITY: _BUNDLE,
    FailureCode.INVALID_TEXT: _BUNDLE,
    FailureCode.INVALID_DOMAIN: _BUNDLE,
    FailureCode.MISSING_TRACE: _BUNDLE,
    FailureCode.INVALID_FACTS_SCHEMA: _FACTS,
    FailureCode.UNKNOWN_FACT: _FACTS,
    FailureCode.DUPLICATE_FACT: _FACTS,
    FailureCode.PROMPT_BUDGET: "Ask a shorter question, or name a policy with a larger budget.",
    FailureCode.REQUEST_ALTERED: _OPERATOR,
    FailureCode.MODEL_TIMEOUT: _LATER,
    FailureCode.MODEL_RATE_LIMITED: _LATER,
    FailureCode.MODEL_UNAVAILABLE: _LATER,
    FailureCode.MODEL_REJECTED: "Ask another model. `sourcebound models show NAME` shows what is known of one.",
    FailureCode.MODEL_IDENTITY_MISMATCH: "Name the model exactly as its provider reports it.",
    FailureCode.PROMPT_TRUNCATED: "Lower max_chunks, or give the model a larger context window.",
    FailureCode.OUTPUT_TRUNCATED: "Ask for less at once, or ask another model.",
    FailureCode.EMPTY_ANSWER: _REJECTED,
    FailureCode.ANSWER_TOO_LONG: "Ask for less at once. Check a long answer of another system in parts.",
    FailureCode.INVALID_REFUSAL_FORMAT: _REJECTED,
    FailureCode.MALFORMED_CITATION: _REJECTED,
    FailureCode.INVALID_CITATION_REFERENCE: _REJECTED,
    FailureCode.UNCITED_FACTUAL_STATEMENT: _REJECTED,
    FailureCode.FORBIDDEN_CONTENT: _REJECTED,
    FailureCode.UNSUPPORTED_LITERAL: _REJECTED,
    FailureCode.CITATION_MISMATCH: _REJECTED,
    FailureCode.DEGENERATE_ANSWER: _REJECTED,
    FailureCode.UNSUPPORTED_STATEMENT: _REJECTED,
    FailureCode.INVALID_OUTPUT_SCHEMA: _REJECTED,
    FailureCode.AUDIT_UNAVAILABLE: _OPERATOR,
    FailureCode.STATE_ALTERED: "Ask again: the stored state of this run was changed, and it cannot continue.",
}
EXTRACTIVE: Final = "extractive"
"""The built-in generator, which is no model (R4-9)."""
NO_SENTENCE: Final = "no sentence of the evidence answers the question"
"""The message of a refusal by the built-in generator."""


def advise(outcome: Outcome) -> str | None:
    """Return what the reader of a run can try next; None for an answer."""
    code = outcome.refusal_code or outcome.failure_code
    return ADVICE[code] if code else None


def say_why(outcome: Outcome, model: str) -> str:
    """Return the public reason of a run without an answer. It names a model only if one was asked.

    Args:
        outcome: The outcome of the run.
        model: The generator of the run.
    """
    is_extractive = outcome.refusal_code is RefusalCode.MODEL_REFUSED and model == EXTRACTIVE
    return NO_SENTENCE if is_extractive else outcome.message
