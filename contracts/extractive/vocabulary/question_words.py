"""Questions in German, French, Spanish, Italian, Dutch and Portuguese: what their question words ask for (R4-9)."""

import re
from typing import Final

from sourcebound.contracts.validation.literals.amounts.languages import ARTICLES, WORDS

ASKED: Final = {
    "contact": r"(?:welche|quel(?: est le)?|(?:qué|cuál es el)|(?:che|qual è il)|welk|qual (?:é )?o) ?"
    r"(?:telefonnummer|rufnummer|numéro de téléphone|número de teléfono|numero di telefono|telefoonnummer"
    r"|número de telefone)",
    "frequency": r"wie oft|in welchem (?:abstand|intervall)|combien de fois|(?:à quelle|quelle) fréquence"
    r"|con qué frecuencia|cada cuánt[oa]s?|cuántas veces|con quale frequenza|(?:ogni )?quante volte|ogni quanto"
    r"|hoe vaak|hoe dikwijls|com que frequência|quantas vezes|de quanto em quanto",
    "duration": r"wie lange|combien de temps|(?:depuis|pendant) combien|cuánto tiempo|(?:per )?quanto tempo"
    r"|hoe ?lang",
    "money": r"was kostet|wie teuer|combien coûte(?:nt)?|cuánto cuestan?|quanto costan?o?|wat kost(?:en)?|hoe duur"
    r"|quanto custam?",
    "count": r"wie ?viele|combien d(?:e\b|['’])|cuánt[oa]s|quant[eia]s?|quantos|hoeveel",
    "measure": r"wie (?:viel|hoch|groß|schwer|lang|tief|breit|schnell)|wieviel|combien|cuánto|quanto"
    r"|quelle (?:est la )?(?:pression|puissance|température|vitesse)"
    r"|hoe (?:groot|hoog|zwaar|diep|breed|snel|warm|veel)",
    "time": r"wann|quand|cuándo|quando|in welchem jahr|(?:en|de) quelle année|(?:en )?qué año|in (?:che|quale) anno"
    r"|wanneer|in welk jaar|em que ano",
    "person": r"^\W*(?:(?:von|mit|für|an|à|de|par|pour|avec|por|con|para|a|da|di|per|door|van|voor) )?"
    r"(?:wer|wem|wen|wessen|qui\b(?! est-ce que)|quién(?:es)?|chi|wie|quem)",
    "place": r"wo(?:hin|her)?|où|dónde|dove|waar|onde",
    "reason": r"warum|wieso|weshalb|pourquoi|por qué|perché|waarom|por que|porquê",
    "yes_no": r"^\W*(?:ist|sind|kann|können|muss|müssen|darf|dürfen|hat|gibt es|wird|soll|est-ce que|peut-on|faut-il"
    r"|puedo|puede|se puede|hay que|posso|può|si può|è|bisogna|is|zijn|kan|kunnen|moet|moeten|mag|mogen|pode|podem"
    r"|devo)",
}
"""The kind that a question word asks for, by the value of `Asked`; of several at one place, the first."""
UNIT: Final = (
    r"(?:sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|secondes?|minutes?|heures?|jours?|semaines?|mois|ans?"
    r"|années?|segundos?|minutos?|horas?|días?|semanas?|mes(?:es)?|años?|second[oi]|minut[oi]|or[ae]|giorn[oi]|settiman[ae]"
    r"|mes[ei]|ann[oi]|seconden|minuten|uur|uren|dagen|weken|maanden|jaar|jaren|dias?|mês|anos?)"
)
MONTH: Final = (
    r"(?:januar|jänner|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre"
    r"|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|januari|februari|maart|mei|augustus|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro"
    r"|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|april|august|september|november)"
)
NUMBER_WORDS: Final = frozenset().union(*WORDS.values()) - ARTICLES | frozenset(
    """
        twee drie vier vijf zes zeven acht negen tien elf twaalf twintig honderd duizend
        dois duas três quatro cinco seis sete oito nove dez onze doze vinte trinta cem mil
        """.split()
)
"""Those of the literals, with Dutch and Portuguese ones."""
NUMBER: Final = rf"(?:\d[\d.,]*|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
ANSWERS: Final = {
    kind: re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE)
    for kind, words in {
        "frequency": r"alle|jede[nrsm]?|(?:täg|wöchent|monat|jähr)lich|(?:ein|zwei|drei)mal|chaque|fois|tou(?:te)?s les"
        rf"|cada|todos los|vez|veces|ogni|volt[ae]|{UNIT}",
        "duration": UNIT,
        "count": NUMBER,
        "time": rf"(?:1\d|20)\d\d|{MONTH}|\d\d?[:.]\d\d uhr|nach|vor|sobald|wenn|après|avant|lorsque|después|antes"
        r"|cuando|dopo|prima|quando",
        "reason": r"weil|denn|da|damit|um .{1,60} zu|sonst|wegen|parce qu\w*|car|afin|sinon|porque|para (?:que|\w+r)"
        r"|debido|perché|poiché|per \w+re|altrimenti",
    }.items()
}
"""The words that have the asked kind. Numbers and signs are the same in every language."""
PATTERNS: Final = tuple((kind, re.compile(rf"(?:{words})(?!\w)", re.IGNORECASE)) for kind, words in ASKED.items())


def read_kind(text: str) -> str | None:
    """Return the kind of thing that a question in one of these languages asks for, as a value of `Asked`."""
    found = [
        (match.start(), number)
        for number, (_, pattern) in enumerate(PATTERNS)
        if (match := pattern.search(text)) and not text[: match.start()][-1:].isalnum()
    ]
    return PATTERNS[min(found)[1]][0] if found else None
