"""The function words of six European languages, and the language of a text by them."""

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
        a afin ai ainsi après au aux avant avec avoir c ce ces cet cette chez combien comme comment d dans de depuis
        des doit doivent donc du elle elles en entre est et était être faire fait faut il ils j je l la le les leur
        leurs lors lorsque lui m mais me n ne nous on ont ou où par pas pendant peut peuvent plus pour pourquoi qu
        quand que quel quelle quelles quels qui quoi s sa sans se selon ses si son sont souvent sous sur t temps toute
        toutes tous tout très un une vers vous y
        """.split()
    ),
    "es": frozenset(
        """
        a al antes aquí así bajo cada como cómo con cual cuál cuáles cuando cuándo cuánta cuántas cuánto cuántos de
        debe deben del desde después donde dónde durante e el ella ellos en entre era es esa ese eso está están esta
        este esto estos fue fueron ha hace hacer han hasta hay la las le les lo los más me mi muy no o para pero por
        porque puede pueden que qué quien quién quiénes se ser si sí sin sobre son su sus también tiene tienen todo
        todos tras tu un una unas uno unos y ya tiempo
        """.split()
    ),
    "it": frozenset(
        """
        a ad ai al alla alle allo anche che chi ci come con cosa cui da dai dal dalla dalle dallo dei del dell della
        delle dello deve devono di dopo dove dunque e è ed era essere fa fino fra fu gli ha hanno i il in io l la le lo
        loro ma nei nel nella nelle no non o ogni per perché più può possono prima qual quale quali quando quanta
        quante quanti quanto se si sia sono sopra spesso sotto su sua sue sui sul sulla suo tra tutti tutto un una uno
        viene vengono tempo
        """.split()
    ),
    "nl": frozenset(
        """
        aan al alle als bij dan dat de der deze die dit door een en er geen haar had heb hebben heeft het hoe hoelang
        hoeveel hun ik in is je kan kunnen maar mag me meer men met mijn moet moeten mogen na naar niet nog nu of om
        ons onze ook op over per te ten ter toe tot uit u uw van vanaf veel voor waar waarmee waarom waarvoor wanneer
        wat we welk welke wel werd wie word worden wordt ze zich zij zijn zo zonder zou zullen tussen onder tijdens
        """.split()
    ),
    "pt": frozenset(
        """
        a ao aos as até com como da das de do dos e é ela ele eles em entre era esta está este eu foi foram há isso
        isto já lhe mais mas me meu minha muito na nas não nem no nos num numa o onde os ou para pela pelas pelo pelos
        pode podem por porque porquê posso qual quais quando quanta quantas quanto quantos que quem são se sem ser seu
        seus sob sobre sua suas também tem têm ter um uma umas uns você devo deve devem depois antes durante cada tempo
        """.split()
    ),
}
"""The function words of each language but English by which its texts are known."""
MORE: Final = {
    "de": frozenset(
        """
        meine meinem meinen meiner meines dein deine deinem deinen deiner unser unsere unserem unseren unserer euer
        eure seinem seinen seiner seines ihrem ihren ihrer mir mich dir dich ihm ihn ihnen wir euch einander selbst
        schon etwa mal eigentlich überhaupt gerade eben halt bereits bitte hier dort dabei dafür darauf daran darin
        daraus davon dazu danach darüber jeweils woran worauf woraus worin wodurch woher womit wonach worüber worum ans
        aufs übers darf dürfen darfst könnte könnten konnte möchte möchten müsste müssten will wollen wollte sollen
        sollten würde würden wäre hätte hätten hast habt bist seid gewesen wessen derjenige diejenigen sowie
        beziehungsweise innerhalb laut je
        """.split()
    ),
    "fr": frozenset(
        """
        ça cela ceci celui celle ceux celles suis es sommes êtes avez avons avait avais aura auront sera seront serait
        fut furent ma mon mes ta ton tes notre nos votre vos moi toi eux rien alors aussi bien déjà encore ici là
        lorsqu puisque parce dès quelque quelques auquel laquelle lequel lesquels lesquelles duquel dont dois puis peux
        veux veut voulez jusqu jusque chaque aucun aucune fais font été étaient
        """.split()
    ),
    "es": frozenset(
        """
        te nos mis tus nuestra nuestro nuestras nuestros estoy estás estamos estaba estaban tengo tienes tenemos tenía
        tuvo puedo puedes podemos podría debo debes debería hago haces hacemos hizo había habrá he has hemos eres somos
        soy eran será serán sea sean esos esas aquel aquella ahí allí acá algo alguien alguna algunas alguno algunos
        ninguna ninguno cuales quiero quiere vez según hacia dentro fuera aún tampoco sino mientras
        """.split()
    ),
    "it": frozenset(
        """
        mi ti vi mio mia miei mie tuo tua tuoi tue suoi nostro nostra nostri nostre vostro vostra vostri vostre questo
        questa questi queste quello quella quelli quelle quegli quest quell dall nell sull all agli degli dagli sugli
        negli od sto sta stai stiamo stanno ho hai abbiamo avete avere aveva posso puoi possiamo devo devi dobbiamo
        dovrebbe faccio fai fare fatto sarà saranno siamo siete sei ero stato stata qualche alcuni alcune nessun
        nessuno nessuna qui lì là già ancora così poi quindi dov cos quant
        """.split()
    ),
}
"""Further ones, for the translation: pronouns, possessives, auxiliaries and adverbs that say little."""
ALL: Final = {language: words | MORE.get(language, frozenset()) for language, words in FUNCTION_WORDS.items()}


IN_SENTENCES: Final = {
    language: {word: (english,) for english, words in meanings.items() for word in words.split()}
    for language, meanings in {
        "de": {
            "the": "der die das den dem des",
            "a": "ein eine einen einem einer eines",
            "every": "alle jede jeden jedes jeder",
            "is": "wird",
            "are": "werden",
            "was": "wurde",
            "were": "wurden",
        },
        "fr": {"the": "le la les l", "a": "un une", "of": "de d du des", "every": "tous toutes chaque"},
        "es": {"the": "el la los las", "a": "un una", "of": "de del", "every": "todos todas cada"},
        "it": {
            "the": "il lo la gli le i l",
            "a": "un uno una",
            "of": "di del della dei delle degli dello dell",
            "every": "tutti tutte ogni",
            "is": "viene",
            "are": "vengono",
        },
        "nl": {
            "the": "de het",
            "a": "een",
            "every": "alle elke iedere",
            "is": "wordt",
            "are": "worden",
            "was": "werd",
            "were": "werden",
        },
        "pt": {"the": "o a os as", "a": "um uma", "of": "de do da dos das", "every": "todos todas cada"},
    }.items()
}
"""The English of function words that the lexicon does not have, or takes for others than whole sentences need: the
articles, `alle zwei Monate`, and the passive of `wird geprüft`."""


def language_of(forms: Collection[str], among: Collection[str] = FUNCTION_WORDS) -> str:
    """Return the language that has the most of these words as function words; English if none has more.

    Args:
        forms: The words of a text in lower case.
        among: The languages to choose from, besides English.
    """
    counts = {ENGLISH: sum(form in STOP_WORDS for form in forms)}
    counts |= {
        language: sum(form in words for form in forms)
        for language, words in FUNCTION_WORDS.items()
        if language in among
    }
    return max(counts, key=counts.__getitem__)
