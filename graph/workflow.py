"""The whole pipeline: one node for each layer, in the order in which a run passes them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from langgraph.graph import StateGraph
from langgraph.types import RetryPolicy
from uuid_utils import uuid7

from sourcebound.contracts.ports import (
    AnswerLog,
    AnswerModels,
    AuditLog,
    Catalog,
    Conversations,
    Lineage,
    Retriever,
    RunLog,
)
from sourcebound.contracts.state import AskInput, AskOutput, RunContext, State
from sourcebound.graph.observability import observe
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
    """Everything outside the graph that its nodes use."""

    catalog: Catalog
    retriever: Retriever
    run_log: RunLog
    lineage: Lineage
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
    ports: Ports, wrap: Callable[[str, Node], Node] = lambda name, node: node
) -> "StateGraph[State, RunContext, AskInput, AskOutput]":
    """Build the uncompiled graph.

    Args:
        ports: The services that the nodes use.
        wrap: Wraps each node, given its name and the node. Default: no wrapping.

    Returns:
        The graph. Compile it with a checkpointer, or leave that to LangGraph Studio.
    """
    graph = StateGraph(State, input_schema=AskInput, output_schema=AskOutput, context_schema=RunContext)
    graph.set_node_defaults(retry_policy=RetryPolicy(max_attempts=1))
    for name, node in make_nodes(ports).items():
        graph.add_node(name, wrap(name, node))
    for name, following in STRAIGHT.items():
        graph.add_edge(name, following)
    for name in ROUTES:
        graph.add_conditional_edges(name, _as_coroutine(route_from(name)), targets(name))
    return graph


def make_nodes(ports: Ports) -> dict[str, Node]:
    """Return every node by name, bound to its ports and observed (§12)."""
    nodes: dict[str, Node] = {
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
    return {name: observe(name, node) for name, node in nodes.items()}


def new_id() -> str:
    """Generate a UUIDv7 (S-2)."""
    return str(uuid7())


def _as_coroutine(route: Callable[[State], str]) -> Callable[[State], Awaitable[str]]:
    """Wrap a route as a coroutine: LangGraph runs sync routes in a thread, and each run would pay for six hops."""

    async def coroutine(state: State) -> str:
        return route(state)

    return coroutine
