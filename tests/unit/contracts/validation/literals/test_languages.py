"""R5-8: numbers, amounts and times as German, French, Spanish, Italian, Dutch and Portuguese write them."""

import pytest

from sourcebound.contracts.validation.literals.check import check_literals, read_evidence

SUPPORTED = [
    # number words
    ("Le délai est de 24 jours.", "Le délai est de vingt-quatre jours pour le client."),
    ("Die Frist beträgt 12 Wochen.", "Die Frist beträgt zwölf Wochen und ist nicht zu verlängern."),
    ("Sind es 72?", "Es sind zweiundsiebzig, und das ist die Grenze."),
    ("Sono 18 mesi.", "La garanzia è di diciotto mesi per il cliente."),
    ("El plazo es de 30 días.", "El plazo es de treinta días en la ley."),
    ("El plazo es de treinta días.", "El plazo es de 30 días."),
    ("Jusqu'au 12e mois.", "Le contrat dure jusqu'au douzième mois et pas plus."),
    ("It stood still for eleven days.", "In juli lag het park elf dagen stil, en niet langer."),
    ("It takes 23 days and 31 weeks.", "Het duurt drieëntwintig dagen en eenendertig weken voor het klaar is."),
    ("The plan allows four rides.", "O plano permite quatro viagens por dia, com o intervalo entre elas."),
    ("Wait 25 minutes.", "O intervalo é de vinte e cinco minutos entre elas."),
    ("Hand it in within 30 days.", "Submeta o relatório no prazo de 30 dias após o regresso."),
    ("It keeps for three months.", "Het middel is na opening drie maanden houdbaar."),
    # thousands, amounts
    ("Das Limit ist 5000.", "Das Limit ist 5.000 und die Warnung nicht abschaltbar."),
    ("El límite es 1200.", "El límite es de 1.200 en la red."),
    ("Il fait 1 245,3 M€.", "Il fait 1 245,3 millions d'euros."),
    ("Il fait 61,2 M€.", "Il fait 61,2 millions d'euros."),
    ("Der Umsatz war 312,7 Mio. €.", "Der Umsatz war 312,7 Millionen Euro."),
    ("Son 3 millones de euros.", "Son 3.000.000 € en la cuenta y no más que eso."),
    ("It cost 121.6 million pounds.", "It cost £121.6 million."),
    ("27,4 Mio. EUR nach 25,9.", "27,4 Mio. EUR nach 25,9 Mio. EUR"),
    ("Son 87,45 millones de euros.", "Cuenta (en millones de euros)\nVentas 87,45"),
    # a part of a word is no unit
    ("Dura 7 mesas.", "Dura 7, no más."),
    ("Sie stiegen 2024 um 4 %.", "2024: 4 %"),
    ("Es dreht mit 900 min⁻¹.", "It turns at 900 rpm."),
    # times
    ("Ouvert à 8h00.", "Le bureau est ouvert à 8 h et les guichets sont fermés."),
    ("Ouvert à 22h30.", "Ouvert à 22 h 30."),
    ("Fino alle 12.30.", "9:00-12:30"),
    ("Ab 8 Uhr.", "Ab 8:00"),
    ("Bis 2 Uhr nachmittags.", "8 am to 2 pm"),
    ("It is open from 9:00 to 17:00.", "Het kantoor is open van 9 tot 17 uur en is op zondag dicht."),
    ("Take it every 8 hours.", "Neem het elke 8 uur in met water."),
    ("It opens at 9 am.", "A loja abre das 9h às 17h e não fecha."),
    # a unit in the name of a key
    ("The limit is 512 KB.", "max_body_kb: 512"),
]
UNSUPPORTED = [
    ("Le délai est de 25 jours.", "Le délai est de vingt-quatre jours pour le client."),
    ("Die Frist beträgt 12 Wochen.", "Die Frist beträgt zwei Wochen und ist nicht zu verlängern."),
    ("It is 11 bar.", "It is used once, and once is enough for the pump."),
    ("El plazo es de treinta días.", "El plazo es de 20 días."),
    ("Jusqu'au 11e mois.", "Le contrat dure jusqu'au douzième mois et pas plus."),
    ("The limit is 5000 bar.", "The limit is 5.000 bar for the pump."),
    ("Das Limit ist 50000.", "Das Limit ist 5.000 und die Warnung nicht abschaltbar."),
    ("Il fait 1 245,3 M€.", "Il fait 1 345,3 millions d'euros."),
    ("Il fait 61,2 M€.", "Il fait 61,2 milliards d'euros."),
    ("Der Umsatz war 312,7 Mrd. €.", "Der Umsatz war 312,7 Mio. €."),
    ("Son 87,45 millones de euros.", "Cuenta (en miles de euros)\nVentas 87,45"),
    ("It cost 121.6 million pounds.", "It cost $121.6 million."),
    ("Es dreht mit 900 min⁻¹.", "Es läuft 900 Minuten, 900 min."),
    ("Ouvert à 8h30.", "Le bureau est ouvert à 8 h et les guichets sont fermés."),
    ("Fino alle 12.30.", "9:00-12:45"),
    ("Ab 9 Uhr.", "Ab 8 Uhr"),
    ("Bis 2 Uhr nachmittags.", "8 am to 2 am"),
    ("It is open from 9:00 to 16:00.", "Het kantoor is open van 9 tot 17 uur en is op zondag dicht."),
    ("It stood still for twelve days.", "In juli lag het park elf dagen stil, en niet langer."),
    ("It takes 32 days.", "Het duurt drieëntwintig dagen en eenendertig weken voor het klaar is."),
    ("The plan allows five rides.", "O plano permite quatro viagens por dia, com o intervalo entre elas."),
    ("Hand it in within 30 weeks.", "Submeta o relatório no prazo de 30 dias após o regresso."),
    ("The limit is 512 MB.", "max_body_kb: 512"),
    ("Depuis le 18 février 2025.", "Depuis le 18 janvier 2025, pas en février."),
]


def _unsupported(answer: str, evidence: str, version: int = 2) -> list[str]:
    found = check_literals(answer, 0, (read_evidence("C0", evidence),), version=version)
    assert found, f"no literal was read off {answer!r}"
    return [finding.text for finding in found if not finding.supported]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), SUPPORTED)
def test_the_same_value_in_the_form_of_a_language_is_supported(answer: str, evidence: str) -> None:
    assert _unsupported(answer, evidence) == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), UNSUPPORTED)
def test_another_value_in_the_form_of_a_language_is_not(answer: str, evidence: str) -> None:
    assert _unsupported(answer, evidence)


@pytest.mark.parametrize("answer", ["C'est une vanne.", "Es ist ein Ventil.", "È uno stato.", "Sei pronto, once more."])
def test_an_article_or_a_pronoun_is_no_number(answer: str) -> None:
    assert check_literals(answer, 0, (read_evidence("C0", "nothing"),)) == []


def test_the_first_version_reads_no_words_of_other_languages() -> None:
    assert _unsupported("Sono 18 mesi.", "La garanzia è di diciotto mesi per il cliente.", version=1)
