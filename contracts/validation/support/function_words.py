"""The function words of German, French, Spanish and Italian, and the language of a text by them.

Words of these languages are compared as they are written, because the stemmer knows English only.
"""

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


def language_of(forms: Collection[str]) -> str:
    """Return the language that has the most of these words as function words; English if none has more.

    Args:
        forms: The words of a text in lower case.
    """
    counts = {ENGLISH: sum(form in STOP_WORDS for form in forms)}
    counts |= {language: sum(form in words for form in forms) for language, words in FUNCTION_WORDS.items()}
    return max(counts, key=counts.__getitem__)
