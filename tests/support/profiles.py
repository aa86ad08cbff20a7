"""A run of one question under a shipped policy, over fakes: its state, and the text that a reader sees."""

from typing import Any, Final, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from sourcebound.contracts.policy.releases import SHIPPED, load_shipped_policy
from sourcebound.contracts.policy.schema import Policy, Presentation
from sourcebound.contracts.presentation.answer_view import AnswerView, evidence_documents, view_answer
from sourcebound.contracts.presentation.render import present
from sourcebound.contracts.prompt.answer_sentences import write
from sourcebound.contracts.state import AskInput, State
from sourcebound.graph.workflow import build_graph
from support.builders import FILTER, SEAL, JsonObject, bundle, generation, row
from support.fakes import FakeOutside, FakeRetriever, Talker

SEEDED: Final = [
    name for name in SHIPPED if name in ("R2_POLICY_V1", "SOURCE_BOUNDED_V1", "QA_CONTRACT_V1", "GROUNDED_RAG_V1")
]
"""Those of the four policies with an earlier contract's values that ship (P-6)."""
ASKED: Final[AskInput] = {"question": "How often must the shaft seal be checked?", "collection": "manuals"}
ROWS: Final = [row(0, chunk_text=SEAL), row(1, chunk_text=FILTER)]
GOOD: Final = f"{SEAL} [C0]"


class Profiled(NamedTuple):
    """A finished run."""

    state: State
    nodes: tuple[str, ...]
    outside: FakeOutside

    @property
    def response(self) -> JsonObject:
        return self.state["response"]

    @property
    def view(self) -> AnswerView:
        """The released answer for a reader who may read every document."""
        return view_answer(self.state, evidence_documents(self.state))

    def shown(self, presentation: Presentation | None = None) -> str:
        return present(self.view, presentation)


async def ask(
    policy: Policy | str,
    *answers: str,
    results: list[JsonObject] | None = None,
    request: AskInput | None = None,
    **found: Any,
) -> Profiled:
    """Ask `ASKED` over these rows, of a model that gives these answers, by default `GOOD`."""
    rules = load_shipped_policy(policy) if isinstance(policy, str) else policy
    good = write([(SEAL, "C0")], "High") if rules.prompt.output_profile == "answer_sentences" else GOOD
    retrieved = bundle(ROWS if results is None else results, policy_version=rules.policy_version, **found)
    said = [generation(text) for text in answers or (good,)]
    outside = FakeOutside(rules, FakeRetriever(retrieved), Talker(answers=said))
    graph = build_graph(outside.ports()).compile(checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "thread-1"}}
    asked = {**ASKED, **(request or {})}
    nodes = [
        name
        async for update in graph.astream(cast("AskInput", asked), thread, stream_mode="updates")
        for name in update
    ]
    return Profiled(cast("State", (await graph.aget_state(thread)).values), tuple(nodes), outside)
