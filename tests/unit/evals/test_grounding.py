"""The evaluation of the firewall: its arithmetic, and its floors on the external data."""

import pytest

from sourcebound.contracts.text.citations import find_citations
from sourcebound.evals.grounding import Item, Rates, cite_everything, curve, load_items, measure, render
from support.places import ROOT

DATA = ROOT.parent / "shared" / "data"
GOOD = Item("good", "set", "The valve opens at 5 bar. It is blue.", ("The blue valve opens at 5 bar.",), False)
BAD = Item("bad", "set", "The valve opens at 6 bar.", ("The blue valve opens at 5 bar.",), True)
FLOORS = {"ragtruth QA": (0.25, 0.03), "ragtruth Data2txt": (0.40, 0.15), "fever_symmetric": (0.15, 0.03)}
"""For each set the least share of unsupported answers that is caught, and the most of the others that is rejected."""
WRONG = Item("wrong", "set", "There are two valves.", ("A blue valve and a red valve.",), False)


def test_every_statement_is_made_to_cite_every_source() -> None:
    cited = cite_everything("One is blue. Two is red.", 2)
    assert cited == "One is blue. [C0] [C1] Two is red. [C0] [C1]"
    assert len(find_citations(cited)) == 4


def test_rates_count_both_kinds_of_error() -> None:
    rates = measure([GOOD, BAD, WRONG])
    assert rates["set", "UNSUPPORTED_LITERAL"] == Rates(caught=1, unsupported=1, wrongly_rejected=1, clean=2)
    assert rates["set", "any"].f1 == pytest.approx(2 / 3)
    assert "| set | any | 100.0% (1/1) | 50.0% (1/2) | 0.67 |" in render(rates)


def test_the_curve_grows_with_what_is_enforced() -> None:
    levels = [(rate.caught, rate.wrongly_rejected) for rate in curve([GOOD, BAD, WRONG]).values()]
    assert levels == [(0, 0), (1, 0), (1, 0), (1, 1)]


@pytest.mark.data
@pytest.mark.contract("R5-8")
@pytest.mark.skipif(not DATA.is_dir(), reason="the external evaluation data is not here")
def test_the_literal_rule_keeps_its_floors_on_judged_answers() -> None:
    rates = measure(item for item in load_items(DATA) if item.dataset in FLOORS)
    for dataset, (least_caught, most_wrong) in FLOORS.items():
        rate = rates[dataset, "UNSUPPORTED_LITERAL"]
        assert rate.caught / rate.unsupported >= least_caught, dataset
        assert rate.wrongly_rejected / rate.clean <= most_wrong, dataset
