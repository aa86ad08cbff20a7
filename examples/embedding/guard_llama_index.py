"""Check the answers of a LlamaIndex query engine before a reader sees them (needs `llama-index-core`).

python examples/embedding/guard_llama_index.py

`CitationQueryEngine` numbers its sources [1], [2], …; `check_answer` names them [C0], [C1], …
"""

import re
from typing import Any

from llama_index.core import SummaryIndex
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import TextNode

from sourcebound import check_answer

SOURCES = [
    "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C.",
    "The filter of the HP-200 is changed every 2,000 operating hours.",
]
SCRIPT = [
    "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C [1].",
    "The filter of the HP-200 is changed every 3,000 operating hours [2].",
]


class ScriptedLLM(CustomLLM):
    """A model that follows a script, so that this program needs no key. Use your own model instead."""

    script: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        return CompletionResponse(text=self.script.pop(0))

    def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponseGen:
        raise NotImplementedError("a stream would show an answer before it is checked")


def guard(response: Any) -> str:
    """Release the answer of a citation query engine, or the reason why it is not released."""
    sources = [each.node.get_content().partition("\n")[2].strip() for each in response.source_nodes]
    answer = re.sub(r"\[(\d+)\]", lambda match: f"[C{int(match[1]) - 1}]", str(response))
    verdict = check_answer({"sources": sources}, answer)
    if verdict.outcome.status == "OK":
        return str(response)
    return f"{verdict.outcome.status} {verdict.failure_reason or ''}".strip()


if __name__ == "__main__":
    index = SummaryIndex([TextNode(text=text) for text in SOURCES])
    engine = CitationQueryEngine.from_args(index, llm=ScriptedLLM(script=SCRIPT))
    print(guard(engine.query("What oil charge does the HP-200 take?")))
    print(guard(engine.query("How often is the filter of the HP-200 changed?")))
