"""Show the stages of a run while it runs, and then its validated answer.

python examples/embedding/stream.py
"""

import asyncio

from sourcebound import Engine, PublicResponse

QUESTION = "What oil charge does the bearing frame of the HP-200 take in revision C?"


async def main() -> None:
    async with Engine.open() as engine:
        async for item in engine.astream({"question": QUESTION, "collection": "demo"}):
            if isinstance(item, PublicResponse):
                print(f"{item.status}: {item.answer}")
            else:
                print(f"… {item}")


if __name__ == "__main__":
    asyncio.run(main())
