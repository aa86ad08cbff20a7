"""The MCP server with the official client, over HTTP and over stdio (§10)."""

from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from support.processes.commands import PROGRAM, Program
from support.processes.http_server import ANSWER, OFF_TOPIC, QUESTION, Served

TOOLS = ["ask", "search", "get_evidence", "check_answer"]


async def call(client: Client, tool: str, **arguments: object) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.structured_content


def error_of(result: Any) -> str:
    assert result.is_error
    return str(result.content[0].text)


@pytest.mark.contract("CP-12", "R6-7")
async def test_an_agent_asks_and_opens_the_evidence(served: Served) -> None:
    async with Client(f"{served.url}/mcp") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        response = await call(client, "ask", question=QUESTION)
        assert (response["status"], response["answer"]) == ("OK", f"{ANSWER} [C0]")
        source = await call(client, "get_evidence", run_id=response["run_id"], anchor="C0")
        (quote,) = source["quotes"]
        assert source["text"][quote["start"] : quote["end"]] == ANSWER
        refused = await call(client, "ask", question=OFF_TOPIC)
        assert (refused["status"], refused["citations"]) == ("NO_EVIDENCE", [])


async def test_an_agent_searches_without_a_run(served: Served) -> None:
    async with Client(f"{served.url}/mcp") as client:
        found = await call(client, "search", question=QUESTION, filters={"equipment_id": "HP-200"})
    assert found["status"] == "OK"
    assert ANSWER in found["candidates"][0]["excerpt"]


async def test_an_agent_checks_an_answer_of_its_own(served: Served) -> None:
    async with Client(f"{served.url}/mcp") as client:
        right = await call(client, "check_answer", answer=f"{ANSWER} [C0]", sources=[ANSWER])
        wrong = await call(client, "check_answer", answer=f"{ANSWER.replace('0.65', '0.85')} [C0]", sources=[ANSWER])
    assert (right["status"], right["problems"]) == ("PASSED", [])
    assert (wrong["status"], wrong["reason"]) == ("FAILED", "UNSUPPORTED_LITERAL")
    assert wrong["statements"][0]["problems"][0].startswith("R5-8 UNSUPPORTED_LITERAL")


async def test_a_problem_is_an_error_of_the_tool(served: Served) -> None:
    async with Client(f"{served.url}/mcp") as client:
        unknown = await client.call_tool("get_evidence", {"run_id": "no-such-run", "anchor": "C0"})
        talk = await client.call_tool("ask", {"question": QUESTION, "conversation_id": "no-such-talk"})
    assert error_of(unknown).endswith("RUN_NOT_FOUND: there is no such run. Use the run_id of a response.")
    assert "CONVERSATION_NOT_FOUND" in error_of(talk)


async def test_the_server_speaks_over_stdio(library: str) -> None:
    environment = Program({"DATABASE_URL": library}).variables()
    command = StdioServerParameters(command=str(PROGRAM), args=["mcp"], env=environment, cwd=Path("/tmp"))
    async with Client(stdio_client(command)) as client:
        response = await call(client, "ask", question=QUESTION)
    assert response["answer"] == f"{ANSWER} [C0]"
