"""What the codes of a run say, in words for a person (contract S-3).

A run's own message tells what was found in it; these sentences tell what its code means in any run.
"""

from collections.abc import Mapping
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import RowOutcome
from sourcebound.contracts.outcome import FailureCode, RefusalCode

CODE_MESSAGES: Final[Mapping[str, str]] = {
    RefusalCode.COLLECTION_NOT_FOUND: "There is no such collection, or it holds no documents.",
    RefusalCode.NO_RELEVANT_CONTENT: "Retrieval found nothing that could answer the question.",
    RefusalCode.INSUFFICIENT_SOURCES: "Fewer chunks or documents were found than the policy asks for.",
    RefusalCode.BELOW_SIMILARITY_GATE: "No chunk is close enough to the question to answer it.",
    RefusalCode.ALL_EVIDENCE_DROPPED: "Chunks were found, and none of them was fit to be evidence.",
    RefusalCode.NO_RELEVANT_FACTS: "Evidence was found, and none of its facts bears on the question.",
    RefusalCode.MODEL_REFUSED: "The model read the evidence and found no answer in it.",
    FailureCode.INVALID_REQUEST: "The request is not acceptable: its question, or one of its filters.",
    FailureCode.POLICY_INDEX_MISMATCH: "The policy was calibrated for another index than the one that was searched.",
    FailureCode.RETRIEVAL_FAILED: "The candidates could not be retrieved.",
    FailureCode.INVALID_SCHEMA: "The retrieval bundle has not the shape that its contract asks for.",
    FailureCode.EMPTY_WITHOUT_STATUS: "The retrieval bundle is empty and does not say why.",
    FailureCode.INVALID_RANK: "The ranks of the retrieval bundle are not in order, or not unique.",
    FailureCode.INVALID_SIMILARITY: "A similarity of the retrieval bundle is not a number from 0 to 1.",
    FailureCode.INVALID_TEXT: "A chunk of the retrieval bundle has no text.",
    FailureCode.INVALID_DOMAIN: "A chunk of the retrieval bundle is of a kind that the policy does not allow.",
    FailureCode.MISSING_TRACE: "The retrieval bundle does not say which index it came from.",
    FailureCode.PROMPT_BUDGET: "The question leaves no room for evidence in the prompt.",
    FailureCode.INVALID_FACTS_SCHEMA: "The model's choice of facts is not the JSON that was asked for.",
    FailureCode.UNKNOWN_FACT: "The model chose a fact that was never retrieved.",
    FailureCode.DUPLICATE_FACT: "The model chose the same fact twice.",
    FailureCode.STATE_ALTERED: "A value of the run was changed by hand into one that no layer would have concluded.",
    FailureCode.REQUEST_ALTERED: "The request about to leave was not the prompt that had been built; it was not sent.",
    FailureCode.MODEL_TIMEOUT: "The model took longer than its time limit.",
    FailureCode.MODEL_RATE_LIMITED: "The model's provider allows no more requests for now.",
    FailureCode.MODEL_UNAVAILABLE: "The model could not be reached, or its answer broke off.",
    FailureCode.MODEL_REJECTED: "The model's provider did not accept the request, or kept its answer back.",
    FailureCode.MODEL_IDENTITY_MISMATCH: "Another model answered than the one that was asked.",
    FailureCode.PROMPT_TRUNCATED: "The model read less than the whole prompt.",
    FailureCode.OUTPUT_TRUNCATED: "The answer was cut off at the most tokens that the policy allows.",
    FailureCode.EMPTY_ANSWER: "The model said nothing.",
    FailureCode.INVALID_REFUSAL_FORMAT: "The answer carries a refusal that is not exactly the agreed one.",
    FailureCode.MALFORMED_CITATION: "Something in the answer looks like a citation and is none.",
    FailureCode.INVALID_CITATION_REFERENCE: "The answer cites a source that its prompt did not have.",
    FailureCode.UNCITED_FACTUAL_STATEMENT: "A statement of the answer has no citation.",
    FailureCode.FORBIDDEN_CONTENT: "The answer shows something of the system that no reader may see.",
    FailureCode.UNSUPPORTED_LITERAL: "A number, date, name or quotation of the answer is in no source that it cites.",
    FailureCode.CITATION_MISMATCH: "The list of citations does not match the answer's text.",
    FailureCode.INVALID_OUTPUT_SCHEMA: "The answer is not the JSON that was asked for.",
    FailureCode.AUDIT_UNAVAILABLE: "The audit record could not be written, so no answer was released.",
}
ROW_OUTCOME_LABELS: Final[Mapping[RowOutcome, str]] = {
    RowOutcome.ADMITTED: "evidence in the prompt",
    RowOutcome.DROP_GATE: "the gate refused the run",
    RowOutcome.DROP_EMPTY_AFTER_SANITIZE: "nothing visible was left of its text",
    RowOutcome.DROP_FILTER_MISMATCH: "it does not pass the filters",
    RowOutcome.DROP_BELOW_SIMILARITY_FLOOR: "not similar enough by itself",
    RowOutcome.DROP_DUP: "it says what a better one says",
    RowOutcome.DROP_PER_KNOWLEDGE_CAP: "its document has as many chunks as it may",
    RowOutcome.DROP_CHUNK_RATIO: "too large a part of the budget for one chunk",
    RowOutcome.DROP_BUDGET: "no room left in the evidence budget",
    RowOutcome.DROP_MAX_CHUNKS: "there were as many chunks as there may be",
    RowOutcome.DROP_FACT_NOISE: "it is page furniture, or its text is garbled",
    RowOutcome.DROP_FACT_IRRELEVANT: "it does not bear on the question",
    RowOutcome.DROP_FACT_DUP: "it states what a better fact states",
    RowOutcome.DROP_PROMPT_BUDGET: "no room left in the prompt",
}
