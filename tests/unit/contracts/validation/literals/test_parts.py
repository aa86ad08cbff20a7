"""R5-8: a value of a part of a statement is in a chunk that is cited for that part."""

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.literals.parts import cites_another

POLICY = load_shipped_policy("SOURCEBOUND_V2")
CHUNKS = {
    "C0": "The Professional plan has an uptime of 99.5 %.",
    "C1": "The Enterprise plan has an uptime of 99.9 %.",
    "C2": "Both plans are sold since 2019.",
}


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("Professional has 99.5 % [C0] and Enterprise 99.9 % [C1].", False),
        ("Professional has 99.9 % [C0] and Enterprise 99.5 % [C1].", True),
        ("Professional has 99.5 % [C0] and Enterprise 99.5 % [C1].", True),
        ("Since 2019 Professional has 99.5 % [C0].", False),
        ("Professional has 99.5 % and Enterprise 99.9 % [C0] [C1].", False),
        ("Since 2019 [C2] Professional has 99.5 % and Enterprise 99.9 % [C0][C1].", False),
        ("Since 2019 Professional [C0] has 99.5 % [C2].", True),
        ("Professional [C0] and Enterprise [C1] have 99.5 % and 99.9 %.", False),
        ("Professional has 98 % [C0] and Enterprise 99.9 % [C1].", False),
    ],
)
def test_each_part_has_its_own_sources(statement: str, expected: bool) -> None:
    cited = {anchor: text for anchor, text in CHUNKS.items() if anchor in statement}
    assert cites_another(statement, cited) is expected


@pytest.mark.contract("R5-8")
def test_the_firewall_rejects_it() -> None:
    bundle = bundle_of_texts(list(CHUNKS.values()), "")
    for values, reason in (("99.5 99.9", None), ("99.9 99.5", "UNSUPPORTED_STATEMENT")):
        one, two = values.split()
        answer = f"The Professional plan has an uptime of {one} % [C0] and the Enterprise plan one of {two} % [C1]."
        assert validate(answer, bundle, POLICY).failure_reason == reason
