"""Questions in German, French, Spanish and Italian: their function words, and what their question words ask for (R4-9).

A question is in the language that has the most of its function words. Its other words are looked for as they are
written, so that the evidence must be in the same language.
"""

import re
from collections.abc import Collection
from typing import Final

from sourcebound.contracts.text.content_words import STOP_WORDS

ENGLISH: Final = "en"
FUNCTION_WORDS: Final = {
    "de": frozenset(
        """
        aber alle als am an auch auf aus bei beim bin bis da damit dann das dass dem den denn der des die dies diese
        diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es etwas für gegen gibt habe
        haben hat hatte ich ihr ihre im in ins ist ja jede jedem jeden jeder kann kein keine können man mehr mein mit
        muss müssen nach nicht noch nur ob oder oft ohne sein seine sich sie sind soll sollte so über um und uns unter
        viel viele vom von vor wann war waren warum was welche welchem welchen welcher welches wem wen wenn wer werden
        weshalb wie wieso wieviel wird wo wofür wohin worden wozu wurde wurden zu zum zur zwischen lange
        """.split()
    ),
    "fr": frozenset(
        """
        a afin ai ainsi après au aux avant avec avoir c ce ces cet cette chez combien comme comment d dans de depuis des
        doit doivent donc du elle elles en entre est et était être faire fait faut il ils j je l la le les leur leurs
        lors lorsque lui m mais me n ne nous on ont ou où par pas pendant peut peuvent plus pour pourquoi qu quand que
        quel quelle quelles quels qui quoi s sa sans se selon ses si son sont souvent sous sur t temps toute toutes tous
        tout très un une vers vous y
        """.split()
    ),
    "es": frozenset(
        """
        a al antes aquí así bajo cada como cómo con cual cuál cuáles cuando cuándo cuánta cuántas cuánto cuántos de debe
        deben del desde después donde dónde durante e el ella ellos en entre era es esa ese eso está están esta este
        esto estos fue fueron ha hace hacer han hasta hay la las le les lo los más me mi muy no o para pero por porque
        puede pueden que qué quien quién quiénes se ser si sí sin sobre son su sus también tiene tienen todo todos tras
        tu un una unas uno unos y ya tiempo
        """.split()
    ),
    "it": frozenset(
        """
        a ad ai al alla alle allo anche che chi ci come con cosa cui da dai dal dalla dalle dallo dei del dell della
        delle dello deve devono di dopo dove dunque e è ed era essere fa fino fra fu gli ha hanno i il in io l la le lo
        loro ma nei nel nella nelle no non o ogni per perché più può possono prima qual quale quali quando quanta quante
        quanti quanto se si sia sono sopra spesso sotto su sua sue sui sul sulla suo tra tutti tutto un una uno viene
        vengono tempo
        """.split()
    ),
}
ASKED: Final = {
    "frequency": r"wie oft|in welchem (?:abstand|intervall)|combien de fois|(?:à quelle|quelle) fréquence"
    r"|con qué frecuencia|cada cuánt[oa]s?|cuántas veces|con quale frequenza|(?:ogni )?quante volte|ogni quanto",
    "duration": r"wie lange|combien de temps|(?:depuis|pendant) combien|cuánto tiempo|(?:per )?quanto tempo",
    "money": r"was kostet|wie teuer|combien coûte(?:nt)?|cuánto cuestan?|quanto costan?o?",
    "count": r"wie ?viele|combien d(?:e\b|['’])|cuánt[oa]s|quant[ei]",
    "measure": r"wie (?:viel|hoch|groß|schwer|lang|tief|breit|schnell)|wieviel|combien|cuánto|quanto"
    r"|quelle (?:est la )?(?:pression|puissance|température|vitesse)",
    "time": r"wann|quand|cuándo|quando|in welchem jahr|(?:en|de) quelle année|(?:en )?qué año|in (?:che|quale) anno",
    "person": r"wer|wem|wen|wessen|qui\b(?! est-ce que)|quién(?:es)?|\bchi",
    "place": r"wo(?:hin|her)?|où|dónde|dove",
    "reason": r"warum|wieso|weshalb|pourquoi|por qué|perché",
    "yes_no": r"^\W*(?:ist|sind|kann|können|muss|müssen|darf|dürfen|hat|gibt es|wird|soll|est-ce que|peut-on|faut-il)",
}
"""The kind that a question word asks for, by the value of `Asked`; of several at one place, the first."""
UNIT: Final = (
    r"(?:sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|secondes?|minutes?|heures?|jours?|semaines?|mois|ans?"
    r"|années?|segundos?|minutos?|horas?|días?|semanas?|mes(?:es)?|años?|second[oi]|minut[oi]|or[ae]|giorn[oi]|settiman[ae]"
    r"|mes[ei]|ann[oi])"
)
MONTH: Final = (
    r"(?:januar|jänner|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre"
    r"|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|april|august|september|november)"
)
ANSWERS: Final = {
    kind: re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE)
    for kind, words in {
        "frequency": r"alle|jede[nrsm]?|(?:täg|wöchent|monat|jähr)lich|(?:ein|zwei|drei)mal|chaque|fois|tou(?:te)?s les"
        rf"|cada|todos los|vez|veces|ogni|volt[ae]|{UNIT}",
        "duration": UNIT,
        "time": rf"(?:1\d|20)\d\d|{MONTH}|\d\d?[:.]\d\d uhr|nach|vor|sobald|wenn|après|avant|lorsque|después|antes"
        r"|cuando|dopo|prima|quando",
        "reason": r"weil|denn|da|damit|um .{1,60} zu|sonst|wegen|parce qu\w*|car|afin|sinon|porque|para (?:que|\w+r)"
        r"|debido|perché|poiché|per \w+re|altrimenti",
    }.items()
}
"""The words that have the asked kind. Numbers and signs are the same in every language."""
PATTERNS: Final = tuple((kind, re.compile(rf"(?:{words})(?!\w)", re.IGNORECASE)) for kind, words in ASKED.items())


def language_of(forms: Collection[str]) -> str:
    """Return the language that has the most of these words as function words; English if none has more.

    Args:
        forms: The words of a question in lower case.
    """
    counts = {ENGLISH: sum(form in STOP_WORDS for form in forms)}
    counts |= {language: sum(form in words for form in forms) for language, words in FUNCTION_WORDS.items()}
    return max(counts, key=counts.__getitem__)


def read_kind(text: str) -> str | None:
    """Return the kind of thing that a question in one of these languages asks for, as a value of `Asked`."""
    found = [
        (match.start(), number)
        for number, (_, pattern) in enumerate(PATTERNS)
        if (match := pattern.search(text)) and not text[: match.start()][-1:].isalnum()
    ]
    return PATTERNS[min(found)[1]][0] if found else None
