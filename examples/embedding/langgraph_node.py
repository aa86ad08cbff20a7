"""Ask the documents in a node of your own LangGraph graph, which has channels and a saver of its own.

python examples/embedding/langgraph_node.py
"""

import asyncio
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from sourcebound import Engine, as_node


class Ticket(TypedDict, total=False):
    """The state of a help desk."""

    text: str
    manual: dict[str, Any]
    reply: str


def write_reply(state: Ticket) -> Ticket:
    manual = state["manual"]
    return {"reply": manual["answer"] if manual["status"] == "OK" else "A colleague will answer you."}


async def main() -> None:
    async with Engine.open() as engine:
        builder = StateGraph(Ticket)
        builder.add_node("ask_manuals", as_node(engine, {"collection": "demo"}, question="text", response="manual"))
        builder.add_node("write_reply", write_reply)
        builder.add_edge(START, "ask_manuals")
        builder.add_edge("ask_manuals", "write_reply")
        builder.add_edge("write_reply", END)
        graph = builder.compile(checkpointer=InMemorySaver())  # or PostgresSaver, or none

        ticket: Ticket = {"text": "What oil charge does the bearing frame of the HP-200 take in revision C?"}
        place: Any = {"configurable": {"thread_id": "ticket-4711"}}
        async for part in graph.astream(ticket, place, stream_mode="custom"):
            print(f"… {part['stage']}")
        state = (await graph.aget_state(place)).values
    print(f"reply: {state['reply']}")
    print(f"recorded as run {state['manual']['run_id']}")


if __name__ == "__main__":
    asyncio.run(main())
