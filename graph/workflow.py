"""The pipeline, whole: one node a layer, in the order in which a run passes them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from langgraph.graph import StateGraph
from langgraph.types import RetryPolicy

from sourcebound.contracts.ports import AnswerModels, AuditLog, Catalog, Retriever, RunLog
from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.graph.routing import ROUTES, STRAIGHT, route_from, targets
from sourcebound.nodes.accept import PolicySource, accept
from sourcebound.nodes.assemble import assemble
from sourcebound.nodes.build_prompt import build_prompt
from sourcebound.nodes.generate import generate
from sourcebound.nodes.package import package
from sourcebound.nodes.record import record
from sourcebound.nodes.retrieve import retrieve
from sourcebound.nodes.validate import validate


class Ports(NamedTuple):
    """Everything outside that the graph touches."""

    catalog: Catalog
    retriever: Retriever
    run_log: RunLog
    audit_log: AuditLog
    models: AnswerModels
    find_policy: PolicySource
    new_id: Callable[[], str]
    defaults: RunContext


def build_graph(ports: Ports) -> "StateGraph[State, RunContext, AskInput, State]":
    """Builds the uncompiled graph.

    Args:
        ports: What its nodes reach.

    Returns:
        The graph; compile it with a checkpointer, or leave that to LangGraph Studio.
    """
    graph = StateGraph(State, input_schema=AskInput, context_schema=RunContext)
    graph.set_node_defaults(retry_policy=RetryPolicy(max_attempts=1))
    graph.add_node(
        "accept",
        partial(
            accept,
            catalog=ports.catalog,
            run_log=ports.run_log,
            models=ports.models,
            find_policy=ports.find_policy,
            new_id=ports.new_id,
            defaults=ports.defaults,
        ),
    )
    graph.add_node("retrieve", partial(retrieve, retriever=ports.retriever))
    graph.add_node("assemble", assemble)
    graph.add_node("build_prompt", build_prompt)
    graph.add_node("generate", partial(generate, models=ports.models))
    graph.add_node("validate", validate)
    graph.add_node("record", partial(record, audit_log=ports.audit_log))
    graph.add_node("package", package)
    for node, following in STRAIGHT.items():
        graph.add_edge(node, following)
    for node in ROUTES:
        graph.add_conditional_edges(node, route_from(node), targets(node))
    return graph
