"""General words of headings and heads of tables, in six languages (R5-6)."""

from typing import Final

from sourcebound.contracts.text.content_words import content_words

TITLE_WORDS: Final = content_words(
    """
    overview summary introduction conclusion answer background steps step procedure details detail notes note key
    points
    point main general important additional information further related results result section part parts item items
    name value values type types description table list example examples details references sources source context
    content contents title topic aspect feature features category property number no unit units comparison versus vs
    fact parameter option setting default behaviour behavior meaning purpose place location date time period amount
    cost price fee limit rule requirement condition cause reason effect action method function maintenance
    element component code group category class level stage phase status year month quarter duration quantity metric
    measure figure difference change range ratio share rate score total percentage deadline event role responsibility
    scope guideline guidelines material document documents agreement contract policy plan form file record program
    programme course machine device instrument product model version company party team department person office
    authority country route way question questions main code fault remedy solution problem situation scenario case
    score
    observation response task criterion criteria threshold indicator comment remark who how fast often long
    thema angabe wert werte bezeichnung beschreibung parameter standardwert einstellung bedeutung ort datum zeitraum
    betrag kosten grenze regel bedingung ursache wirkung häufigkeit maßnahme wartung kennzahlen übersicht
    zusammenfassung hinweis hinweise schritte element gruppe kategorie stufe jahr monat quartal dauer menge frist
    kriterium merkmal unterschied bereich fall fälle frage antwort art name pro je rolle
    sujet donnée donnees valeur valeurs paramètre défaut réglage signification lieu durée montant coût frais limite
    règle condition conditions cause effet fréquence entretien aperçu résumé remarque étapes élément groupe catégorie
    niveau année mois trimestre quantité délai critère différence cas question réponse nom rôle par principal
    principaux
    principale principales
    tema dato datos valor valores parámetro predeterminado ajuste significado lugar fecha plazo importe coste límite
    regla condición causa efecto frecuencia mantenimiento resumen nota pasos magnitud elemento grupo categoría nivel
    año mes trimestre duración cantidad criterio diferencia caso pregunta respuesta nombre papel por principal
    principales
    argomento dati valore valori parametro predefinito impostazione significato luogo periodo importo costo limite
    regola condizione causa effetto frequenza manutenzione riepilogo nota passaggi elemento gruppo categoria livello
    anno mese trimestre durata quantità criterio differenza caso domanda risposta nome ruolo principale principali
    onderwerp waarde omschrijving periode bedrag verschil naam soort geval vraag antwoord eenheid voorwaarde rol
    assunto valor descrição período montante diferença nome tipo caso pergunta resposta unidade condição papel
    factor attribute characteristic variable variant kind order position entry entity organisation organization member
    people index id identifier key label column row choice alternative explanation interpretation indication
    consequence
    outcome impact similarity basis process sequence timeline schedule frequency start end first second third look
    shows
    applies happened happens occurred preparation activity duty object directed addressed addressee
    job work staff person place site room region city address phone email website link contact customer client user
    patient member employee supplier manufacturer author owner holder day week hour weekday weekend every each beyond
    further flat keep check checks checked done given issued sent used made measured held size charge rate balance mode
    command flag argument variable field format syntax output input return error message log interval cycle term sign
    test finding count article clause paragraph provision chapter page language word phrase translation definition
    abbreviation colour color shape make service offer finished completed started planned builder maker provider
    extra extras taking much operator sender receiver recipient origin destination route stop vehicle floor
    building
    arbeit personal tag woche stunde ort adresse kunde nutzer mitarbeiter größe gebiet meldung prüfung befund artikel
    absatz seite
    travail personnel jour semaine heure adresse client utilisateur taille message contrôle article page
    trabajo personal día semana hora dirección cliente usuario tamaño mensaje control artículo página
    lavoro personale giorno settimana ora indirizzo cliente utente dimensione messaggio controllo articolo pagina
    werk personeel dag week uur adres klant gebruiker grootte melding controle artikel dienst
    vorbereitung tätigkeit aufgabe gegenstand gerät dès préparation activité tâche appareil objet
    preparación actividad tarea aparato objeto desde preparazione attività compito apparecchio oggetto
    beleg quelle fundstelle punkt faktor eigenschaft gebühr preis aspekt ergebnis folge grund anforderung
    voraussetzung regelung vorgabe
    zeitpunkt termin person beginn ende ablauf bereich
    usage point facteur caractéristique propriété résultat exigence étape moment personne prix tarif
    fuente condiciones punto factor característica propiedad requisito norma resultado momento persona precio tarifa
    fonte punto fattore caratteristica proprietà requisito norma risultato momento persona prezzo tariffa
    bron punt factor kenmerk regel resultaat moment persoon prijs tarief termijn
    ponto fator característica regra resultado momento pessoa preço tarifa prazo custo
    """
)
"""Words by which a heading or the head of a table orders an answer, and which name no subject. None of them
turns what stands below: a minimum is no maximum."""
