"""The pipeline, whole: one node a layer, in the order in which a run passes them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from langgraph.graph import StateGraph
from langgraph.types import RetryPolicy

from sourcebound.contracts.ports import (
    AnswerLog,
    AnswerModels,
    AuditLog,
    Catalog,
    Conversations,
    Retriever,
    RunLog,
)
from sourcebound.contracts.state import AskInput, AskOutput, RunContext, State
from sourcebound.graph.routing import ROUTES, STRAIGHT, route_from, targets
from sourcebound.nodes.accept import PolicySource, accept
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.build_prompt import build_prompt
from sourcebound.nodes.generate import generate
from sourcebound.nodes.package import package
from sourcebound.nodes.record import record
from sourcebound.nodes.resolve import StateReader, resolve
from sourcebound.nodes.retrieve import retrieve
from sourcebound.nodes.select_facts import select_facts
from sourcebound.nodes.validate import validate


class Ports(NamedTuple):
    """Everything outside that the graph touches."""

    catalog: Catalog
    retriever: Retriever
    run_log: RunLog
    conversations: Conversations
    read_state: StateReader
    audit_log: AuditLog
    answers: AnswerLog
    models: AnswerModels
    find_policy: PolicySource
    new_id: Callable[[], str]
    defaults: RunContext


Node = Callable[..., Any]


def build_graph(
    ports: Ports, around: Callable[[str, Node], Node] = lambda name, node: node
) -> "StateGraph[State, RunContext, AskInput, AskOutput]":
    """Builds the uncompiled graph.

    Args:
        ports: What its nodes reach.
        around: Wraps each node, given its name; as it is when omitted.

    Returns:
        The graph; compile it with a checkpointer, or leave that to LangGraph Studio.
    """
    graph = StateGraph(State, input_schema=AskInput, output_schema=AskOutput, context_schema=RunContext)
    graph.set_node_defaults(retry_policy=RetryPolicy(max_attempts=1))
    for name, node in make_nodes(ports).items():
        graph.add_node(name, around(name, node))
    for name, following in STRAIGHT.items():
        graph.add_edge(name, following)
    for name in ROUTES:
        graph.add_conditional_edges(name, _awaited(route_from(name)), targets(name))
    return graph


def make_nodes(ports: Ports) -> dict[str, Node]:
    """Every node by its name, bound to what it reaches."""
    return {
        "accept": partial(
            accept,
            catalog=ports.catalog,
            run_log=ports.run_log,
            models=ports.models,
            find_policy=ports.find_policy,
            new_id=ports.new_id,
            defaults=ports.defaults,
        ),
        "resolve": partial(
            resolve,
            conversations=ports.conversations,
            models=ports.models,
            answers=ports.answers,
            read_state=ports.read_state,
        ),
        "retrieve": partial(retrieve, retriever=ports.retriever),
        "assemble": assemble,
        "select_facts": partial(select_facts, models=ports.models, answers=ports.answers),
        "build_prompt": build_prompt,
        "generate": partial(generate, models=ports.models, answers=ports.answers),
        "validate": validate,
        "record": partial(record, audit_log=ports.audit_log),
        "package": package,
    }


def _awaited(route: Callable[[State], str]) -> Callable[[State], Awaitable[str]]:
    """A routing function that LangGraph awaits; it sends any other to a thread, and a run waits for six of them."""

    async def awaited(state: State) -> str:
        return route(state)

    return awaited
