"""Ask the graph of a LangGraph server from another program, alone and as a node of its own graph.

    make studio
    python examples/embedding/remote_graph.py http://127.0.0.1:2024

The server is for development only. Give each run a thread: concurrent runs without one disturb each other there.
"""

import asyncio
import sys
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client
from typing_extensions import TypedDict

QUESTION = "What oil charge does the bearing frame of the HP-200 take in revision C?"


class State(TypedDict, total=False):
    """The channels of the remote graph that this program reads and writes."""

    question: str
    response: dict[str, Any]


async def main(url: str) -> None:
    async with get_client(url=url) as client:
        remote = RemoteGraph("sourcebound", client=client)
        thread = await client.threads.create()
        place: Any = {"configurable": {"thread_id": thread["thread_id"]}}
        state: Any = await remote.ainvoke({"question": QUESTION}, place)
        print(f"{state['response']['status']}: {state['response']['answer']}")

        builder = StateGraph(State)
        builder.add_node("manuals", remote)
        builder.add_edge(START, "manuals")
        builder.add_edge("manuals", END)
        state = await builder.compile().ainvoke({"question": QUESTION}, place)
        print(f"as a node: {state['response']['status']}")
        print(f"recorded as run {state['response']['run_id']}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
