"""Give the documents to an agent as a tool (needs `langchain`).

python examples/embedding/langchain_agent.py
"""

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from sourcebound import Engine, as_tool

QUESTION = "What oil charge does the bearing frame of the HP-200 take in revision C?"
CALL = AIMessage("", tool_calls=[{"name": "ask_documents", "args": {"question": QUESTION}, "id": "call-1"}])


class ScriptedChatModel(GenericFakeChatModel):
    """A model that follows a script, so that this program needs no key. Use your own model instead."""

    def bind_tools(self, tools: Any, **options: Any) -> "ScriptedChatModel":
        return self


async def main() -> None:
    model = ScriptedChatModel(messages=iter([CALL]))  # or "openai:gpt-4.1-mini"
    async with Engine.open() as engine:
        agent = create_agent(model, [as_tool(engine, {"collection": "demo"}, return_direct=True)])
        state = await agent.ainvoke({"messages": [{"role": "user", "content": "How much oil does the HP-200 take?"}]})
    answer = state["messages"][-1]
    print(answer.content)
    print(f"recorded as run {answer.artifact['run_id']}")


if __name__ == "__main__":
    asyncio.run(main())
