// What a reader of the page can do next. The advice of a response names commands, which a reader of the page does not have.

const REJECTED = "Ask again. The rejected text is not released: “How this answer was made” names the rule that it broke.";
const OPERATOR = "Tell the operator of the server, whose log has the reason.";
const NEAREST = "The nearest passages are above.";
const OWN = {
  collection_not_found: "Choose another collection, or add documents to this one.",
  below_similarity_gate: `Name the subject as the documents name it, or choose another collection. ${NEAREST}`,
  all_evidence_dropped: "Loosen the filters of the question. “How this answer was made” names the rule that dropped each passage.",
  model_refused: `Ask for one thing, in the words of the documents. ${NEAREST}`,
  NOT_ANSWERED: `The documents are near the subject and do not say this. Ask for what they say. ${NEAREST}`,
  POLICY_INDEX_MISMATCH: "Tell the operator of the server: the policy is not calibrated for this collection.",
  CHUNK_ALTERED: "Tell the operator of the server: a document was altered, and a new ingest replaces it.",
  RETRIEVAL_FAILED: OPERATOR,
  REQUEST_ALTERED: OPERATOR,
  AUDIT_UNAVAILABLE: OPERATOR,
  MODEL_REJECTED: "Ask another model, or tell the operator of the server.",
};

export function adviceFor(response) {
  const given = response.advice;
  if (!given || !given.includes("`")) return given;
  return OWN[response.refusal_code || response.failure_code] || REJECTED;
}
