"""Give the evidence to a chain of your own, and check what its model writes before a reader sees it.

python examples/embedding/langchain_retriever.py
"""

import asyncio
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from sourcebound import Engine, as_retriever, check_answer

QUESTION = "What oil charge does the bearing frame of the HP-200 take in revision C?"
SCRIPT = [  # a model that follows a script, so that this program needs no key
    "The bearing frame of the HP-200 takes an oil charge of 0.65 litres in revision C. [C0]",
    "The bearing frame of the HP-200 takes an oil charge of 0.85 litres in revision C. [C0]",
]
PROMPT = ChatPromptTemplate.from_template(
    "Answer from these sources only, and cite each sentence as [C0], [C1], …\n\n{sources}\n\nQuestion: {question}"
)


def number(documents: list[Document]) -> str:
    return "\n\n".join(f"[C{number}] {document.page_content}" for number, document in enumerate(documents))


def guard(state: dict[str, Any]) -> str:
    """Release the answer of the chain, or the reason why it is not released."""
    if not state["documents"]:
        return "NO_EVIDENCE"
    verdict = check_answer({"sources": [each.page_content for each in state["documents"]]}, state["answer"])
    if verdict.outcome.status == "OK":
        return verdict.validated_answer_text
    return f"{verdict.outcome.status} {verdict.failure_reason or ''}".strip()


async def main() -> None:
    async with Engine.open() as engine:
        write = PROMPT | FakeListChatModel(responses=SCRIPT) | StrOutputParser()
        chain = (
            {"documents": as_retriever(engine, {"collection": "demo"}), "question": RunnablePassthrough()}
            | RunnablePassthrough.assign(sources=lambda state: number(state["documents"]))
            | RunnablePassthrough.assign(answer=write)
            | RunnableLambda(guard)
        )
        for question in (QUESTION, QUESTION, "Who won the chess championship of 1972?"):
            print(await chain.ainvoke(question))


if __name__ == "__main__":
    asyncio.run(main())
