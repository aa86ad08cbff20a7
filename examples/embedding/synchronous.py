"""Ask without `await`, in a plain script and inside a running event loop such as that of a notebook.

python examples/embedding/synchronous.py
"""

import asyncio

from sourcebound import PublicResponse, SyncEngine

QUESTION = "To what is the spring compression of the HP-200 seal set?"
FOLLOW_UP = "And of the HP-300 seal?"


def ask_in_a_script(engine: SyncEngine) -> None:
    about = {"collection": "demo", "conversation_id": engine.start_conversation()}
    for question in (QUESTION, FOLLOW_UP):
        response = engine.ask({"question": question, **about})  # type: ignore[typeddict-item]
        print(f"{response.search_query or question}\n  {response.status}: {response.answer}")


async def ask_in_a_running_loop(engine: SyncEngine) -> None:
    stages = [item for item in engine.stream({"question": QUESTION, "collection": "demo"})]
    assert isinstance(stages[-1], PublicResponse)
    print(f"in a running loop, after {len(stages) - 1} stages: {stages[-1].status}")


if __name__ == "__main__":
    with SyncEngine() as opened:
        ask_in_a_script(opened)
        asyncio.run(ask_in_a_running_loop(opened))
