"""The meaning of a run's codes, in words for people (contract S-3).

The message of a run says what was found in that run. These sentences say what its code means in any run.
"""

from collections.abc import Mapping
from typing import Final

from sourcebound.contracts.evidence.answer_bundle import RowOutcome
from sourcebound.contracts.outcome import FailureCode, RefusalCode

CODE_MESSAGES: Final[Mapping[str, str]] = {
    RefusalCode.COLLECTION_NOT_FOUND: "The collection does not exist, or it has no documents.",
    RefusalCode.NO_RELEVANT_CONTENT: "Retrieval found nothing that could answer the question.",
    RefusalCode.INSUFFICIENT_SOURCES: "Retrieval found fewer chunks or documents than the policy requires.",
    RefusalCode.BELOW_SIMILARITY_GATE: "No chunk is close enough to the question to answer it.",
    RefusalCode.ALL_EVIDENCE_DROPPED: "Chunks were found, but none of them could be used as evidence.",
    RefusalCode.UNCLEAR_FOLLOW_UP: "The question depends on an earlier one, and it is not plain how.",
    RefusalCode.NO_RELEVANT_FACTS: "Evidence was found, but none of its facts is relevant to the question.",
    RefusalCode.NOT_ANSWERED: "The evidence is on the subject of the question and does not answer it.",
    RefusalCode.MODEL_REFUSED: "The model found no answer in the evidence.",
    FailureCode.INVALID_REQUEST: "The request is not valid: check its question and its filters.",
    FailureCode.POLICY_INDEX_MISMATCH: "The policy was calibrated for a different index than the searched one.",
    FailureCode.RETRIEVAL_FAILED: "The candidates could not be retrieved.",
    FailureCode.CHUNK_ALTERED: "A chunk of the index was altered after its ingest, so it is no evidence.",
    FailureCode.INVALID_SCHEMA: "The retrieval bundle does not have the structure that its contract requires.",
    FailureCode.EMPTY_WITHOUT_STATUS: "The retrieval bundle is empty and does not say why.",
    FailureCode.INVALID_RANK: "The ranks in the retrieval bundle are not in order or not unique.",
    FailureCode.INVALID_SIMILARITY: "A similarity in the retrieval bundle is not a number from 0 to 1.",
    FailureCode.INVALID_TEXT: "A chunk in the retrieval bundle has no text.",
    FailureCode.INVALID_DOMAIN: "A chunk in the retrieval bundle is of a type that the policy does not allow.",
    FailureCode.MISSING_TRACE: "The retrieval bundle does not name the index that it came from.",
    FailureCode.PROMPT_BUDGET: "The question leaves no room for evidence in the prompt.",
    FailureCode.INVALID_FACTS_SCHEMA: "The model's choice of facts is not the requested JSON.",
    FailureCode.UNKNOWN_FACT: "The model chose a fact that was never retrieved.",
    FailureCode.DUPLICATE_FACT: "The model chose the same fact twice.",
    FailureCode.STATE_ALTERED: "A stored value of the run was edited into one that no layer would have written.",
    FailureCode.REQUEST_ALTERED: "The request to the model did not match the prompt of the run, so it was not sent.",
    FailureCode.MODEL_TIMEOUT: "The model did not answer within its time limit.",
    FailureCode.MODEL_RATE_LIMITED: "The model's provider accepts no more requests at the moment.",
    FailureCode.MODEL_UNAVAILABLE: "The model could not be reached, or its answer ended early.",
    FailureCode.MODEL_REJECTED: "The model's provider rejected the request or withheld the answer.",
    FailureCode.MODEL_IDENTITY_MISMATCH: "A different model answered than the one requested.",
    FailureCode.PROMPT_TRUNCATED: "The model did not read the whole prompt.",
    FailureCode.OUTPUT_TRUNCATED: "The answer is incomplete: it reached the policy's limit on tokens.",
    FailureCode.EMPTY_ANSWER: "The model returned no text.",
    FailureCode.ANSWER_TOO_LONG: "The answer is longer than 50,000 characters, so it was not read.",
    FailureCode.INVALID_REFUSAL_FORMAT: "The answer contains a refusal that is not exactly the required text.",
    FailureCode.MALFORMED_CITATION: "The answer contains text that looks like a citation but is not one.",
    FailureCode.INVALID_CITATION_REFERENCE: "The answer cites a source that was not in its prompt.",
    FailureCode.UNCITED_FACTUAL_STATEMENT: "A statement in the answer has no citation.",
    FailureCode.FORBIDDEN_CONTENT: "The answer shows internal content that no reader may see.",
    FailureCode.UNSUPPORTED_LITERAL: "A number, date, name or quotation in the answer is in none of its cited sources.",
    FailureCode.DEGENERATE_ANSWER: "A statement of the answer says nothing: a loop, an echo or a filler.",
    FailureCode.UNSUPPORTED_STATEMENT: "The cited sources of a statement do not say it.",
    FailureCode.CITATION_MISMATCH: "The list of citations does not match the text of the answer.",
    FailureCode.INVALID_OUTPUT_SCHEMA: "The answer is not the requested JSON.",
    FailureCode.AUDIT_UNAVAILABLE: "The audit record could not be written, so no answer was released.",
}
ROW_OUTCOME_LABELS: Final[Mapping[RowOutcome, str]] = {
    RowOutcome.ADMITTED: "evidence in the prompt",
    RowOutcome.DROP_GATE: "the gate refused the run",
    RowOutcome.DROP_EMPTY_AFTER_SANITIZE: "no visible text left after sanitization",
    RowOutcome.DROP_FILTER_MISMATCH: "it does not pass the filters",
    RowOutcome.DROP_BELOW_SIMILARITY_FLOOR: "not similar enough to the question",
    RowOutcome.DROP_DUP: "it repeats a better chunk",
    RowOutcome.DROP_PER_KNOWLEDGE_CAP: "its document already has the maximum number of chunks",
    RowOutcome.DROP_CHUNK_RATIO: "too large a share of the evidence budget",
    RowOutcome.DROP_BUDGET: "no room left in the evidence budget",
    RowOutcome.DROP_MAX_CHUNKS: "the maximum number of chunks was reached",
    RowOutcome.DROP_FACT_NOISE: "it is page furniture, or its text is garbled",
    RowOutcome.DROP_FACT_IRRELEVANT: "it is not relevant to the question",
    RowOutcome.DROP_FACT_DUP: "it repeats a better fact",
    RowOutcome.DROP_PROMPT_BUDGET: "no room left in the prompt",
}
