"""Admission: gives the run its ids and its policy, and refuses requests that cannot be served (S-2, P-2, P-3, R1-2)."""

from collections.abc import Callable
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, NamedTuple, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from sourcebound.contracts.admission import Admission, admit, requested_collection
from sourcebound.contracts.corpus.collection import Collection
from sourcebound.contracts.policy.lock import FoundPolicy, ReleaseStatus
from sourcebound.contracts.policy.request_limits import apply_request_limits
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.ports import AnswerModels, Catalog, RunLog
from sourcebound.contracts.state import AskInput, RunContext, State
from sourcebound.contracts.versions import THIS_VERSION
from sourcebound.errors import RequestError


def new_salt() -> str:
    """Generate the salt of a run's digests: 128 random bits in hexadecimal (R5P-7)."""
    return token_hex(16)


class PolicySource(Protocol):
    """Finds the policy of a run."""

    def __call__(self, name: str | None, *, embedding_model: str | None) -> FoundPolicy:
        """Return the named policy, or the default for an index of that embedder, with its release status."""
        ...


class ResolvedSettings(NamedTuple):
    """The policy of a request, with the request's limits, and its collection if there is one."""

    policy: Policy
    collection: Collection | None
    collection_name: str | None
    is_draft: bool


async def resolve_settings(
    request: AskInput, context: RunContext, *, catalog: Catalog, find_policy: PolicySource, defaults: RunContext
) -> ResolvedSettings:
    """Find the policy and the collection of a request.

    Raises:
        SourceboundError: The policy does not exist, or a limit is malformed or would loosen it.
    """
    collection: Collection | None = None
    name = requested_collection(request, context) or defaults.collection
    if request.get("retrieval_bundle") is None and name:
        collection = await catalog.find_collection(name)
    release = find_policy(
        context.policy or defaults.policy, embedding_model=collection.embedding_model if collection else None
    )
    limited = apply_request_limits(release.policy, request.get("limits") or {})
    if limited.violations:
        raise RequestError(
            "; ".join(violation.message for violation in limited.violations) + ".",
            "Leave the limit out, or name a policy that allows it."
            if not limited.is_malformed
            else "Correct the limit, or leave it out.",
            code="INVALID_REQUEST" if limited.is_malformed else "POLICY_LOOSENED",
        )
    return ResolvedSettings(limited.policy, collection, name, release.release_status is ReleaseStatus.DRAFT)


async def accept(
    state: State,
    runtime: Runtime[RunContext],
    config: RunnableConfig,
    *,
    catalog: Catalog,
    run_log: RunLog,
    models: AnswerModels,
    find_policy: PolicySource,
    new_id: Callable[[], str],
    defaults: RunContext,
    new_salt: Callable[[], str] = new_salt,
) -> dict[str, Any]:
    """Open the run. Its ids, policy and collection are fixed here."""
    context = runtime.context or RunContext()
    settings = await resolve_settings(state, context, catalog=catalog, find_policy=find_policy, defaults=defaults)
    policy = settings.policy
    model = context.model or defaults.model or ""
    models.check(model, policy)
    admission: Admission = admit(
        state,
        policy,
        settings.collection,
        collection_name=settings.collection_name,
        model=model,
        thread_id=str(config.get("configurable", {}).get("thread_id", "")),
        new_id=new_id,
        started_at=datetime.now(UTC).isoformat(),
        is_draft=settings.is_draft,
        salt=new_salt(),
        made_by=THIS_VERSION,
    )
    await run_log.begin(admission.run)
    return {
        "run": admission.run.to_json(),
        "policy": policy.to_json(),
        "outcome": admission.outcome.to_json(),
        **({"retrieval": bundle} if (bundle := state.get("retrieval_bundle")) is not None else {}),
    }
