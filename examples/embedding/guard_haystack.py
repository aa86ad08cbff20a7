"""Check the answers of a Haystack pipeline before a reader sees them (needs `haystack-ai`).

python examples/embedding/guard_haystack.py

The prompt numbers the documents [1], [2], … as `AnswerBuilder` expects them; `check_answer` names them [C0], [C1], …
"""

import re
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import GeneratedAnswer
from haystack.document_stores.in_memory import InMemoryDocumentStore

from sourcebound import check_answer

SOURCES = [
    "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C.",
    "The filter of the HP-200 is changed every 2,000 operating hours.",
]
SCRIPT = [
    "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C [1].",
    "The filter of the HP-200 is changed every 3,000 operating hours [1].",
]
TEMPLATE = """Answer from these sources only, and cite each sentence as [1], [2], …
{% for document in documents %}
[{{ loop.index }}] {{ document.content }}
{% endfor %}
Question: {{ query }}"""


@component
class ScriptedGenerator:
    """A generator that follows a script, so that this program needs no key. Use your own generator instead."""

    def __init__(self, script: list[str]) -> None:
        self.script = [*script]

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, Any]:
        return {"replies": [self.script.pop(0)]}


@component
class AnswerGuard:
    """Releases the answers that their documents support, and names the rule that each other one breaks."""

    @component.output_types(answers=list[GeneratedAnswer], rejected=list[str])
    def run(self, answers: list[GeneratedAnswer]) -> dict[str, Any]:
        released, rejected = [], []
        for answer in answers:
            sources = [document.content for document in answer.documents]
            text = re.sub(r"\[(\d+)\]", lambda match: f"[C{int(match[1]) - 1}]", answer.data)
            verdict = check_answer({"sources": sources}, text)
            if verdict.outcome.status == "OK":
                released.append(answer)
            else:
                rejected.append(f"{verdict.outcome.status} {verdict.failure_reason or ''}".strip())
        return {"answers": released, "rejected": rejected}


def build_pipeline() -> Pipeline:
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text) for text in SOURCES])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    pipeline.add_component("generator", ScriptedGenerator(SCRIPT))
    pipeline.add_component("builder", AnswerBuilder())
    pipeline.add_component("guard", AnswerGuard())
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("retriever.documents", "builder.documents")
    pipeline.connect("prompt", "generator")
    pipeline.connect("generator.replies", "builder.replies")
    pipeline.connect("builder.answers", "guard.answers")
    return pipeline


if __name__ == "__main__":
    guarded = build_pipeline()
    for query in ("What oil charge does the bearing frame take?", "How often is the filter changed?"):
        asked = {"retriever": {"query": query}, "prompt": {"query": query}, "builder": {"query": query}}
        result = guarded.run(asked)["guard"]
        print(*[answer.data for answer in result["answers"]], *result["rejected"], sep="\n")
