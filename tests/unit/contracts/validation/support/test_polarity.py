"""R5-17: a statement that says in other words the contrary of its chunks is not supported."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from sourcebound.contracts.evidence.external import bundle_of_texts
from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.validation.firewall import validate
from sourcebound.contracts.validation.support.passages import read_passage
from sourcebound.contracts.validation.support.polarity import turned
from sourcebound.contracts.validation.support.polarity.clauses import (
    MAX_DENIALS,
    MAX_WORDS,
    read_chunk_clauses,
    read_statement_clauses,
)
from sourcebound.contracts.validation.support.polarity.turned import (
    MAX_CLAUSES,
    MAX_FAMILY,
    MAX_SENTENCES,
    turns,
)
from support.places import ROOT

HONEST = ROOT / "tests" / "assets" / "honest"
POLICY = load_shipped_policy("SOURCEBOUND_V2")
DEVIATIONS = "Minor deviations do not require a root cause analysis."
OIL = "The lighter oil of the old pump must not be mixed with the new one."
VALVE = "The operator opens the drain valve by hand before each test."


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("statement", "chunks", "expected"),
    [
        # a denial that the statement lacks
        ("You may mix in the lighter oil of the old pump.", [OIL], True),
        ("The lighter oil of the old pump should never be mixed in.", [OIL], False),
        ("Mixing in the lighter oil is to be avoided.", [OIL], False),
        ("Smoking in the warehouse is allowed.", ["Smoking in the warehouse is forbidden."], True),
        ("Gloves and goggles are worn at the saw.", ["Wear goggles at the saw, but no gloves."], True),
        (
            "Mix in the lighter oil of the old pump.",
            [f"{OIL} At first, mix in the lighter oil of the old pump."],
            False,
        ),
        ("Minor deviations require a root cause analysis.", [f"{DEVIATIONS} Major ones do."], True),
        # the main clause after a reason
        (
            "As the daemon cannot recover alone, it should be restarted automatically.",
            ["The daemon will have to be restarted after an attack. It must not be restarted automatically."],
            True,
        ),
        (
            "Because the daemon cannot recover alone, it should be restarted automatically.",
            ["The daemon will have to be restarted after an attack. It must not be restarted automatically."],
            True,
        ),
        (
            "As the daemon cannot recover alone, it must not be restarted automatically.",
            ["The daemon will have to be restarted after an attack. It must not be restarted automatically."],
            False,
        ),
        ("Para limpiar la junta, use acetona.", ["No use acetona para limpiar la junta."], True),
        (
            "The operator cleans the seal with acetone.",
            ["As the seal must not be cleaned with acetone, the operator uses ethanol for the pump."],
            True,
        ),
        # a denial that only the statement has may be said in any way
        ("The drain valve is never opened by hand.", [VALVE], False),
        ("No, the operator opens the drain valve.", [VALVE], False),
        # the same word with and without a denial in one clause
        ("The motor is cooled by water.", ["The motor is not cooled by air, it is cooled by water."], False),
        # a word that is only said of another thing
        ("The work is unsupervised.", ["The pump is not unsupervised."], False),
        # a sentence with a small part of the statement
        (
            "The blue pump of the boiler house delivers water to the tank behind the wall.",
            ["The pump is not blue."],
            False,
        ),
        # another sentence that says most of it
        (
            "The operator may open the large drain valve.",
            ["The operator must not open the large drain valve today. The operator may open the drain valve later."],
            False,
        ),
        # all of the closest words must be said
        ("The old lamp is painted at night.", ["The old lamp is not painted blue at night."], False),
        # a word of the same family
        ("Man kann das Gerät im Freien verwenden.", ["Das Gerät darf nicht im Freien verwendet werden."], True),
        # limits, conditions and descriptions deny nothing
        ("The tank pressure may reach 5 bar.", ["The tank pressure must not be more than 5 bar."], False),
        (
            "The third seal is fitted once the cause is known.",
            ["No third seal is fitted until its cause is known."],
            False,
        ),
        (
            "The server runs as root if it has an account.",
            ["Without an account the server does not run as root."],
            False,
        ),
        ("Snapshots of folders that are not shared are kept.", ["Snapshots of shared folders are kept."], False),
        ("The index is not stored.", ["Store the index: false"], False),
        ("The pump is not only quiet.", ["The pump is quiet."], False),
        ("The net ratio is at most 3.5.", ["The net ratio is not above 3.5."], False),
        ("The injured guard left.", ["She did not name the suspect, nor the injured guard."], False),
        ("There is a guard at the gate.", ["No guard at the gate was injured."], False),
        ("The lamp is less bright.", ["The lamp is not as bright as the old lamp."], False),
        ("One pump runs on Sunday.", ["No one runs the pump on Sunday."], False),
        # other languages
        ("Les sacs sont autorisés dans la salle.", ["Les sacs ne sont pas autorisés dans la salle."], True),
        ("En la parcela se puede encender fuego.", ["Está prohibido encender fuego en la parcela."], True),
        ("Der Beutel wird im Lesesaal benutzt.", ["Im Lesesaal wird der Beutel nicht benutzt."], True),
        ("Il tubo va collegato al camino.", ["Il tubo non va mai collegato al camino."], True),
        (
            "Les boulons de la pompe sont serrés selon le plan.",
            ["Les boulons de la pompe sont serrés à 195 N·m selon le plan."],
            False,
        ),
        ("La réunion du comité a lieu le 4 mai.", ["La réunion du comité a lieu en mai."], False),
    ],
)
def test_the_contrary_in_other_words_is_found(statement: str, chunks: list[str], expected: bool) -> None:
    assert turns(statement, chunks) is expected


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize(
    ("chunk", "statement"),
    [
        # another thing does what is denied of this one
        (
            f"{DEVIATIONS} Major ones do.",
            "A root cause analysis is required for major deviations.",
        ),
        ("Guests cannot print documents. Members can.", "Members can print documents."),
        ("Gäste können keine Dokumente drucken. Mitglieder schon.", "Mitglieder können Dokumente drucken."),
        # what is denied beyond a number is said up to it
        ("Files larger than 25 MB cannot be attached to a ticket.", "Files attached to a ticket are limited to 25 MB."),
        ("Claims after 30 days are not accepted by the office.", "Claims are accepted by the office within 30 days."),
        # the chunk denies by a heading, a mark, an answer or another word
        ("Never do the following:\n- open the housing\n- immerse it in water", "Do not immerse it in water."),
        ("## Prohibited\n\n- Smoking in the rooms\n- Pets in the restaurant", "Pets in the restaurant are forbidden."),
        (
            "| Do | Don't |\n|---|---|\n| Wear gloves | Touch the blade with bare hands |",
            "Do not touch the blade with bare hands.",
        ),
        (
            "Can I open the lid during operation?\nNo, the lid is locked.",
            "The lid cannot be opened during operation.",
        ),
        ("It is illegal to sell fireworks to children.", "You must not sell fireworks to children."),
        ("Für die Spülmaschine geeignet: nein", "Das Teil ist nicht für die Spülmaschine geeignet."),
        ("Die Gebühr entfällt für Schüler und Studenten.", "Schüler und Studenten zahlen keine Gebühr."),
        (
            "Il est déconseillé d'ouvrir le couvercle pendant le cycle.",
            "Il ne faut pas ouvrir le couvercle pendant le cycle.",
        ),
        ("Se desaconseja abrir la tapa durante el ciclo.", "No se debe abrir la tapa durante el ciclo."),
        ("Si sconsiglia di aprire il coperchio durante il ciclo.", "Non si deve aprire il coperchio durante il ciclo."),
        (
            "Un agent malade ne reprend le travail que 48 heures après la fin des symptômes.",
            "Un agent malade reprend le travail 48 heures après la fin des symptômes.",
        ),
        # two denials
        (
            "You cannot return an item without the original receipt.",
            "To return an item you need the original receipt.",
        ),
        (
            "You cannot log in if you have not confirmed your email address.",
            "Confirm your email address to log in.",
        ),
        ("Das Gerät darf nicht ohne Filter betrieben werden.", "Das Gerät muss mit Filter betrieben werden."),
        ("L'appareil ne doit pas être utilisé sans filtre.", "L'appareil doit être utilisé avec un filtre."),
        (
            "No se puede usar la sierra sin gafas de protección.",
            "Para usar la sierra hacen falta gafas de protección.",
        ),
        (
            "La macchina non può essere avviata senza il coperchio.",
            "La macchina può essere avviata con il coperchio montato.",
        ),
        # an exception
        ("Unless the lid is closed, the motor does not start.", "The lid must be closed for the motor to start."),
        ("Pets are not allowed, with the exception of guide dogs.", "Guide dogs are allowed as an exception."),
        # a label that denies
        ("It may be asked about red cards, but not about ordinary fouls.", "- **Not allowed:** ordinary fouls."),
        # not A but B
        ("Passwords are not stored in plain text but as a hash.", "Passwords are stored as a hash."),
        (
            "Passwörter werden nicht im Klartext, sondern als Hash gespeichert.",
            "Passwörter werden als Hash gespeichert.",
        ),
        (
            "Les mots de passe ne sont pas stockés en clair mais sous forme de hachage.",
            "Les mots de passe sont stockés sous forme de hachage.",
        ),
        ("Las contraseñas no se guardan en claro, sino como hash.", "Las contraseñas se guardan como hash."),
        ("Le password non sono salvate in chiaro, bensì come hash.", "Le password sono salvate come hash."),
    ],
)
def test_an_honest_rewording_is_not_contrary(chunk: str, statement: str) -> None:
    assert not turns(statement, [chunk])


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize("path", sorted(HONEST.rglob("evidence.jsonl")), ids=lambda path: path.parent.name)
def test_no_sentence_of_the_evidence_is_contrary_to_it(path: Path) -> None:
    chunks = [chunk for line in path.read_text().splitlines() for chunk in json.loads(line)["evidence"]]
    quoted = [(chunk[part.start : part.end], chunk) for chunk in chunks for part in read_passage(chunk).sentences]
    assert [sentence for sentence, chunk in quoted if turns(sentence, [chunk])] == []


def test_a_mark_after_a_letter_that_folds_to_two_ends_a_clause() -> None:
    assert len(read_statement_clauses("Prüfe das Maß: das Rohr wird nicht gekürzt.")) == 2


def test_a_long_clause_is_cut_and_its_denials_are_limited() -> None:
    (clauses,) = read_chunk_clauses(" ".join(f"no valve{number}" for number in range(500)))
    assert sum(len(clause.words) for clause in clauses) == 500
    assert max(len(clause.words) for clause in clauses) <= MAX_WORDS
    assert max(len(clause.denied) for clause in clauses) <= MAX_DENIALS
    assert sum(clause.denials for clause in clauses) == 500


def test_the_comparisons_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed, alike = Mock(return_value=0), Mock(return_value=False)
    monkeypatch.setattr(turned, "weigh", weighed)
    monkeypatch.setattr(turned, "_is_same", alike)
    statement = "; ".join(f"valve{number} of pump{number}" for number in range(200))
    turns(statement, ["\n".join(f"valve{number % MAX_CLAUSES} of valve{number}" for number in range(1500))])
    assert weighed.call_count <= MAX_CLAUSES * MAX_SENTENCES
    assert alike.call_count <= (MAX_FAMILY + 1) * 1502


@pytest.mark.contract("R5-17")
def test_the_firewall_rejects_it() -> None:
    verdicts = [
        validate(f"You {modal} mix in the lighter oil of the old pump [C0].", bundle_of_texts([OIL], ""), POLICY)
        for modal in ("must not", "may")
    ]
    assert [verdict.failure_reason for verdict in verdicts] == [None, "UNSUPPORTED_STATEMENT"]
    assert verdicts[1].support is not None
    assert verdicts[1].support.lowest == 0


def test_a_sentence_that_is_quoted_whole_is_not_compared() -> None:
    chunk = "The lamp is lit. The lamp is not lit at night."
    verdict = validate("The lamp is not lit at night. [C0]", bundle_of_texts([chunk], ""), POLICY)
    assert verdict.support is not None
    assert verdict.support.lowest == 1000


@pytest.mark.contract("R5-17")
def test_a_denial_is_about_the_words_next_to_it() -> None:
    assert turns("Concentrated red ink may be diluted.", ["Never dilute concentrated red marking ink bottles."])


@pytest.mark.contract("R5-17")
@pytest.mark.parametrize("name", ["MAX_CLAUSES", "MAX_SENTENCES"])
def test_beyond_a_limit_nothing_is_contrary(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert turns("You may mix in the lighter oil of the old pump.", [OIL])
    monkeypatch.setattr(turned, name, 0)
    assert not turns("You may mix in the lighter oil of the old pump.", [OIL])
