"""R5-8: what one text says in words and another in digits: times of day, fractions, points, versions and phases."""

import pytest

from sourcebound.contracts.validation.literals.check import check_literals, read_evidence
from sourcebound.contracts.validation.versions import SECOND

LOANS = "| Loan | Currency | Drawn (million) |\n|---|---|---|\n| Revolving | GBP | 45.0 |\n| Vessel | EUR | 22.5 |"
SUPPORTED = [
    # minutes in short, in a text about time
    ("It gives up after 5 minutes.", "timeout; Type: time; Default: 5m"),
    ("It gives up after 5 minutes.", "timeout | Use: lmtp | Default: 5m"),
    ("It gives up after 5 minutes.", "Retry interval = 5m"),
    ("It gives up after 5 minutes.", '{"timeout": "5m"}'),
    ("It gives up after 5 minutes.", "| Timeout | 5m |"),
    # equal measures
    ("It sends at 2.15 GHz to 2.75 GHz.", "It sends at 2150-2750 MHz."),
    ("It sends at 4 GHz.", "It sends at 4000 MHz."),
    ("It weighs 1.5 kg.", "It weighs 1500 g."),
    ("It lasts 1 to 1.5 years.", "It lasts 12-18 months."),
    # dates of one word
    ("It ends on 2027-06-19.", "Rollover: 19-Jun-2027"),
    ("It ends on 19-Jun-2027.", "It ends on June 19, 2027."),
    ("The part 12-ABC-2020 is red.", "Part: 12-ABC-2020"),
    # equal durations
    ("It lasts two days.", "It lasts 48 hours."),
    ("It lasts 48 hours.", "It lasts two days."),
    ("It lasts one week.", "It lasts 7 days."),
    ("It lasts two to three weeks.", "It lasts 14-21 days."),
    ("It lasts 1 hour.", "It lasts 60 minutes."),
    ("It lasts 24 months.", "It lasts 2 years."),
    ("Give 14 days' notice.", "Give two (2) weeks' notice."),
    ("Dura 3 días y medio.", "Dura 3,5 días."),
    ("It closes at 12:00.", "It closes at noon."),
    ("It takes 1 hour and 55 minutes.", "| 55 °C | 1 h 55 min |"),
    ("Tarda 1 hora y 55 minutos.", "takes 1 h 55 min"),
    ("It takes 2 h 5 min.", "It takes 2 hours and 5 minutes."),
    ("It would rise by one percentage point.", "a rise of 100 basis points"),
    ("It opens at 05:00.", "| Service | Hours (UTC) |\n| Fuel | 0500-2000 |"),
    # parts, units of heads and numbered things
    ("It pays €0.38 per km.", "| Car | €0.38/km |"),
    ("It costs €4.", "It costs €4/h."),
    ("The error is -0.31 K.", "It has an error of -0.31 K."),
    ("The error is -0.31 K.", "| Nominal / °C | Error / K |\n|---|---|\n| 121 | -0.31 |"),
    ("It owed EUR 90.0 million.", "| Lender | Currency | 2023 (m) |\n|---|---|---|\n| Bank | EUR | 90.0 |"),
    ("It is a difference of 3.3 mmHg.", "It fell (difference -3.3 mmHg)."),
    ("It gave one third of the amount.", "It gave about a third of the set amount."),
    ("It held 2,150 mg/kg.", "| Oil mg/kg |\n|---|\n| 2,150 |"),
    ("The second specimen broke.", "Specimen 2 broke."),
    ("It is $5 in the first year and $6 in the second.", "| 1 | $5 |\n| 2 | $6 |"),
    # times that count from an hour
    ("It opens at 9:15.", "It opens at quarter past nine."),
    ("It opens at quarter past nine.", "It opens at 9:15."),
    ("It opens at a quarter past 9.", "It opens at 9:15 am."),
    ("It closes at quarter to five.", "It closes at 4:45 pm."),
    ("It closes at 16:45.", "It closes at a quarter to five."),
    ("It closes at half past six.", "It closes at 6:30 p.m."),
    ("It closes at half past twelve in the morning.", "It closes at 0:30."),
    ("Es beginnt um 7:30 Uhr.", "Es beginnt um halb acht."),
    ("Es beginnt um 19:30 Uhr.", "Es beginnt um halb acht."),
    ("Es beginnt um 0:30 Uhr.", "Es beginnt um halb eins."),
    ("Es beginnt um 8:15 Uhr.", "Es beginnt um Viertel nach acht."),
    ("It starts at half past seven.", "Es beginnt um halb acht."),
    ("It starts at 9:15.", "Il commence à neuf heures et quart."),
    ("It starts at 9:30.", "Empieza a las nueve y media."),
    ("It starts at 8:45.", "Comincia alle nove meno un quarto."),
    # times with a point
    ("It opens at 8:05.", "It opens at 8.05 am."),
    ("It opens at 8.05 am.", "It opens at 8:05."),
    ("It opens at 8.05.", "It opens at 8:05."),
    ("It opens at 8.05 p.m.", "Opening: 8:05 PM"),
    ("Der Zug fährt um 18:05 Uhr.", "Der Zug fährt um 18.05 Uhr."),
    ("Der Zug fährt um 8.05 Uhr.", "Der Zug fährt um 8:05 Uhr."),
    # parts of an hour
    ("Leave it on for 30 minutes.", "Leave it on for half an hour."),
    ("Leave it on for 30 minutes.", "Leave it on for a half-hour."),
    ("It takes 15 minutes.", "Es dauert eine Viertelstunde."),
    ("It takes 45 minutes.", "Il faut trois quarts d'heure."),
    # percentage points
    ("It rose by 3 percentage points.", "Der Anteil stieg um 3 Prozentpunkte."),
    ("It rose by 1 percentage point.", "Der Anteil stieg um 1 Prozentpunkt."),
    ("It rose by 3 percentage points.", "La part augmente de 3 points de pourcentage."),
    ("It rose by 3 percentage points.", "La cuota subió 3 puntos porcentuales."),
    ("It rose by 3 percentage points.", "La quota sale di 3 punti percentuali."),
    # fractions
    ("Zwei Drittel der Mitglieder stimmten zu.", "2/3 der Mitglieder stimmten zu."),
    ("2/3 der Mitglieder stimmten zu.", "Zwei Drittel der Mitglieder stimmten zu."),
    ("Two thirds of the members agreed.", "Zwei Drittel der Mitglieder stimmten zu."),
    ("One third of the members agreed.", "Un tiers des membres ont voté."),
    ("Three quarters of the members agreed.", "Tres cuartos de los miembros votaron."),
    ("Two thirds of the members agreed.", "Due terzi dei membri hanno votato."),
    ("All four quarters were good.", "The 4 quarters were good."),
    ("The quorum is one tenth of the members.", "The quorum is one - tenth of the members."),
    ("It needs two thirds of the votes.", "It needs a two-third majority of the votes."),
    # numbers next to each other in a row
    ("It had 13,324,080 votes against it.", "For Against Abstentions 57,172,731 13,324,080 170,172 6,884,223"),
    ("It had 57,172,731 votes for it.", "For Against Abstentions 57,172,731 13,324,080 170,172 6,884,223"),
    ("There were 969 stores.", "Total 966 5 (2) 969 977 7 (2) 982"),
    ("There were 977 stores.", "Total 966 5 (2) 969 977 7 (2) 982"),
    ("It had 969 million.", "(in millions)\nTotal 5 (2) 969 977 7 (2) 982"),
    # numbers of three words
    ("It has 179 seats.", "One hundred and seventy-nine seats are free."),
    ("It has one hundred and seventy-nine seats.", "It has 179 seats."),
    ("It has 200 seats.", "It has between one hundred and two hundred seats."),
    # ages in words
    ("He was seven years old.", "He left at the age of seven."),
    ("She was twenty-one years old.", "She was aged twenty-one."),
    # a range after a point is no date
    ("The risk was 1.98 (1.26-3.11).", "risk 1.98 (1.26-3.11)"),
    (
        "The risk was 2.34 (95% CI: 1.1-4.6) for heart attacks, 2.50 (95% CI: 1.0-5.7) for depression.",
        "for heart attacks 2.34 (95% CI: 1.1-4.6), for depression 2.50 (95% CI: 1.0-5.7)",
    ),
    ("There were 128 stores.", "Best Buy 127 1 - 128 127 - - 127"),
    ("It lived there for over 300 years.", "It has lived there for over 300 y, while the other is new."),
    ("It weighs 1245 kg.", "The weight is 1 245 kg."),
    # signs in words
    ("Output shrank by 0.3% in 2002.", "2002: -0.3%"),
    ("It shrank by 1.1% in 1998 and by 0.3% in 2002.", "1998: -1.1%; 2002: –0.3%"),
    ("Sales were down 3% in 2002.", "Sales 2002: -3%"),
    ("It had a decline of 3% in 2002.", "2002: -3%"),
    ("Sales fell sharply by 3% and costs too.", "Sales: -3%"),
    ("It fell 3 times.", "It fell thrice."),
    ("Support was dropped by 3.2 of the tool.", "Dropped in v3.2"),
    # ordinals of other things
    ("In the first accident, the pilot lost control.", "The pilot lost control in his seventh landing."),
    # ages
    ("He was 15 years old.", "When Salah was 15 he was noticed."),
    ("He was 18 years old.", "He left, aged 18 in 2020."),
    ("He was 19 years old.", "whom he has known since he was 19."),
    ("He died 83 years old.", "He died at the age of 83."),
    # a verb after a name with a number
    ("COVID-19 may slow it.", "COVID-19 is slow."),
    ("Type 2 may cause it.", "It is of type 2."),
    # prices for a time
    ("The plan costs $20 per month.", "The plan costs $20/mo."),
    ("The Pro plan costs $20 per month.", "| Plan | $/mo |\n|---|---|\n| Basic | 10 |\n| Pro | 20 |"),
    ("The Pro plan costs $20 a month.", "| Plan | Price (USD/mo.) |\n|---|---|\n| Basic | 10 |\n| Pro | 20 |"),
    ("They go in two by two.", "They go in pairs."),
    ("L'eau est incluse dans les deux cas.", "L'eau est incluse."),
    ("A luz apaga-se acima dos 20 % e não há alarme.", "O alarme cessa acima de 20 %."),
    # hundredths of a currency
    ("Het kost 31 cent per jaar.", "Het kostte 0,31 euro per jaar."),
    ("It costs 31 cents.", "It costs $0.31."),
    ("It costs $0.31.", "It costs 31 cents."),
    ("It costs 5 pence.", "It costs £0.05."),
    ("It costs £0.05.", "It costs 5 pence."),
    # percentages and fractions
    ("Charities pay 50 percent of the fee.", "Charities pay half the fee."),
    ("Sie zahlen 50 % der Gebühr.", "Sie zahlen die Hälfte der Gebühr."),
    ("They pay 25 % of it.", "They pay a quarter of the fee."),
    ("They pay 60 % of it.", "They pay three fifths of the fee."),
    ("They pay three quarters of it.", "They pay 75 % of the fee."),
    # units of three parts, and heads with a rate
    ("The most is 4.0 mg/kg/h.", "| Drug | Unit | Most |\n|---|---|---|\n| Propofol | mg/kg/h | 4.0 |"),
    ("It rains 1,130 mm a year.", "| Place | Rain (mm/year) |\n|---|---|\n| Kessan | 1,130 |"),
    # a scale alone in the first cell
    ("Vehicles were €2,045 thousand.", "| EUR thousand | Vehicles |\n|---|---|\n| Assets, 31 Dec 2023 | 2,045 |"),
    # a currency in a cell of its row
    ("It drew €22.5 million and £45 million.", LOANS),
    ("It drew 22.5 million.", LOANS),
    # a noun behind the name of a thing
    ("A2-Pellets sind erlaubt.", "Pellets der Klasse A2 dürfen verwendet werden."),
    ("It yields 36.1 t/ha.", "| Plot | Yield (t/ha) |\n|---|---|\n| A | 36.1 |"),
    ("It is seen for 9 miles.", "È visibile a 9 miglia."),
    ("It is due at each year-end.", "It is due on 31 December, and the rent once per month."),
    # dates
    ("It lasts from 1 August to 30 September.", "Dauer: 1. August–30. September"),
    ("Die Reise dauerte vom 2. bis zum 16. Juni 2022.", "Zeit: 2. bis 16. Juni 2022"),
    ("Il dura dal 2 al 16 giugno 2022.", "van 2 tot en met 16 juni 2022"),
    ("Le ratio atteignait 2,71 au 31 décembre 2023.", "Au 31 décembre 2023, il s’établissait à 2,71."),
    ("Energy in winter (October to March)", "Energy, October–March"),
    ("It is closed in May.", "closed May–July"),
    ("U betaalt in juli 29 euro.", "juli: € 29,00"),
    ("It held until 30 April 2024.", "Fees from 1 May 2024 (until 30 April: £985)"),
    # the ends of ranges
    ("Wages go from $20.50 to $32 per hour.", "They earn $20.50 to $28 per hour. Technicians here make $32 or more."),
]
UNSUPPORTED = [
    ("It ends on 2027-06-18.", "Rollover: 19-Jun-2027"),
    ("The part 12-ABC-2020 is red.", "Part: 12-ABD-2020"),
    # measures that are not equal
    ("It sends at 2.15 GHz.", "It sends at 2150 kHz."),
    ("It weighs 1.5 g.", "It weighs 1500 kg."),
    ("It takes 5 kW.", "It takes 5 W."),
    ("The error is 5 K.", "The pressure is 5 mbar."),
    ("The error is -0.41 K.", "| Nominal / °C | Error / K |\n|---|---|\n| 121 | -0.31 |"),
    ("It owed EUR 90.0 million.", "| Lender | Currency | 2023 |\n|---|---|---|\n| Bank | EUR | 90.0 |"),
    ("It opens at 05:00.", "The parts are 0500-2000."),
    ("It pays €0.39 per km.", "| Car | €0.38/km |"),
    ("It is KR-4/km.", "It is KR-5/km."),
    # durations that are not equal
    ("It takes 1 hour and 56 minutes.", "| 55 °C | 1 h 55 min |"),
    ("It takes 2 hours and 55 minutes.", "takes 1 h 55 min"),
    ("It would rise by one percentage point.", "a rise of 10 basis points"),
    ("It gave one fifth of the amount.", "It gave about a third of the set amount."),
    ("It held 2,150 mg/l.", "| Oil mg/kg |\n|---|\n| 2,150 |"),
    ("The third specimen broke.", "Specimen 2 broke."),
    ("The first shift is red and the second line is blue.", "The first line is blue, and so is the third line."),
    ("It lasts three days.", "It lasts 48 hours."),
    ("It lasts two weeks.", "It lasts 10 days."),
    ("It lasts one month.", "It lasts 30 days."),
    ("It lasts one week.", "It lasts 7 working days."),
    ("Dura 3 días y medio.", "Dura 72 horas."),
    ("Il faut 2 heures et demie.", "Il faut 2 heures."),
    ("It closes at 12:00.", "It closes at 10:00."),
    ("It gives up after 5 minutes.", "The hose is 5m long."),
    ("Rinse the hose for 5 minutes.", "The hose is 5m long. Rinse the hose each time."),
    ("Rinse the hose for 5 minutes.", "Length of the hose: 5m. Rinse it each time."),
    ("Rinse the hose for 5 minutes.", "Delivery time: 3 days; Length of the hose: 5m"),
    ("Rinse the hose for 5 minutes.", "Rinse the hose for some time:\nLength: 5m"),
    ("It gives up after 5 minutes.", "Budget for the period: 5M"),
    ("It gives up after 5 hours.", "timeout; Type: time; Default: 5m"),
    ("It opens at quarter past nine.", "It opens at quarter to nine."),
    ("It opens at half past nine.", "It opens at quarter past nine."),
    ("It opens at 9:15 pm.", "It opens at quarter past nine in the morning."),
    ("It opens at 8:45.", "It gave a quarter to nine schools."),
    ("Es beginnt um halb acht.", "Beginn: 8:30 Uhr"),
    ("Es beginnt um halb neun.", "Es beginnt um halb acht."),
    ("Es beginnt um Viertel vor acht.", "Es beginnt um Viertel nach acht."),
    ("It opens at 8:05.", "It rose to 8.05 in May."),
    ("It opens at 8:05 pm.", "It opens at 8.05 am."),
    ("It takes 30 minutes.", "It is a two-and-a-half-hour trip."),
    ("It takes 15 minutes.", "It is a three-quarter-hour walk."),
    ("Der Anteil stieg um 3 Prozentpunkte.", "Der Anteil stieg um 3 Prozent."),
    ("La part augmente de 3 points de pourcentage.", "La part augmente de 3 %."),
    ("Zwei Drittel stimmten zu.", "Ein Drittel stimmte zu."),
    ("Drei Viertel der Fläche.", "Zwei Drittel der Fläche."),
    ("Deux tiers des membres.", "Un tiers des membres."),
    ("Tres cuartos de los miembros.", "Dos tercios de los miembros."),
    ("Due terzi dei membri.", "Un terzo dei membri."),
    ("It is in Phase III.", "It is in Phase 2."),
    ("It is in Phase III.", "A phase-2 trial."),
    ("It runs v12.", "It runs v1.2."),
    ("It runs v1.2.", "It runs v12."),
    ("It runs v1.2.", "It runs v 12."),
    ("See B1.5.", "See B15."),
    ("The plan costs $20 per year.", "The plan costs $20/mo."),
    ("The Pro plan costs $20 per year.", "| Plan | $/mo |\n|---|---|\n| Basic | 10 |\n| Pro | 20 |"),
    ("He was 15 years old.", "When Salah was 15 km away he was noticed."),
    ("It needs two thirds of the votes.", "It needs a one-third majority of the votes."),
    ("It waits for 5 minutes.", "timeouts; distance default: 5m"),
    # one number with blanks
    ("It weighs 245 kg.", "The weight is 1 245 kg."),
    ("There were 300 stores.", "There were 1 245 300 stores."),
    ("There were 969977 votes.", "For Against 57,172,731 13,324,080 170,172"),
    ("Change the oil every 10 km.", "Change the oil every 10 000 - 15 000 km."),
    ("It weighs 2 kg.", "Weight 2 500 – 3 000 kg"),
    ("The fee is 500 EUR.", "From 2 500 - 3 000 EUR"),
    ("It costs 1 €.", "Price 1 200 (2 rooms: 1 500) €."),
    ("0 people died.", "In 2019 12 000 people lived there."),
    ("245 people lived there.", "In 2019 1 245 300 people lived there."),
    ("It holds 1 litre.", "Volume 3 1 000 litres."),
    ("There were 969 kg.", "Total kg 966 5 (2) 969 977 7 (2) 982"),
    ("There are 245 rooms.", "Rooms 1 245 (2)"),
    ("It has 245 items.", "Items 1 245 2 300 4 500"),
    ("It has 350 items.", "Items 1 2 350 - 2 400 3"),
    ("It lived there for over 300 years.", "It has 300 y 400 of them, while the other is new."),
    ("There were 0 items.", "Items 12 000 (3) 15 000 20"),
    ("There came 245 people.", "Totals 3 4 (5) 6 7 8\n\nIn all, 1 245 people came."),
    (
        "The list has 2.34 as well, as the risk for heart attacks 2.50 (95% CI: 1.1-4.6).",
        "the risk for heart attacks 2.34 (95% CI: 1.1-4.6), for depression 2.50 (95% CI: 1.0-5.7)",
    ),
    ("It has 102 seats.", "It has between one hundred and two hundred seats."),
    ("It has 180 seats.", "One hundred and seventy-nine seats are free."),
    ("He was eight years old.", "He left at the age of seven."),
    ("The risk was 1.98 (1.26-3.12).", "risk 1.98 (1.26-3.11)"),
    # signs
    ("Falls increased by 5%.", "Falls: -5%"),
    ("It dropped the idea to raise prices by 5%.", "Prices: -5%"),
    ("After the decline in 2001, sales rose by 5%.", "Sales 2001: -8%; 2002: -5%"),
    ("Reduced taxes helped, and output grew by 0.3%.", "Output: -0.3%"),
    ("The contractor raised prices by 5%.", "Price change by contractor: -5%"),
    ("Output did not fall by 0.3%.", "Output: -0.3%"),
    ("The temperature dropped 20 °C.", "The temperature was -20 °C."),
    ("Output grew by 0.3% in 2002.", "2002: -0.3%"),
    ("Output was 0.3% in 2002.", "2002: -0.3%"),
    ("It fell; output was 3% in 2002.", "2002: -3%"),
    ("It fell to 3% in 2002.", "2002: -3%"),
    # hundredths and shares that are not equal
    ("It costs 31 cents.", "It costs $0.41."),
    ("It costs 31 cents.", "It costs $3.10."),
    ("It costs $0.31.", "It takes 31 hours."),
    ("They pay 50 % of it.", "It takes half an hour."),
    ("They pay 50 % of it.", "They pay a quarter of the fee."),
    ("They pay three quarters of it.", "They pay 70 % of the fee."),
    ("The most is 4.0 mg/ml.", "| Drug | Unit | Most |\n|---|---|---|\n| Propofol | mg/kg/h | 4.0 |"),
    ("It rains 1,130 cm a year.", "| Place | Rain (mm/year) |\n|---|---|\n| Kessan | 1,130 |"),
    ("Vehicles were €2,045 thousand.", "| Item (EUR thousand) | Vehicles |\n|---|---|\n| Assets 2023 | 2,045 |"),
    ("It yields 36.1 kg/ha.", "| Plot | Yield (t/ha) |\n|---|---|\n| A | 36.1 |"),
    ("It drew £22.5 million.", LOANS),
    ("It drew €45 million.", LOANS),
    ("A3-Pellets sind erlaubt.", "Pellets der Klasse A2 dürfen verwendet werden."),
    ("Der HP-200-Brenner ist neu.", "Der HP-200 ist neu."),
    ("Die Reise dauerte vom 3. bis zum 16. Juni 2022.", "Zeit: 2. bis 16. Juni 2022"),
    ("It held until 30 April 2024.", "from 1 May 2024 (until 30 April), and again in 2025"),
    ("It held until 30 April 2023.", "Fees from 1 May 2024 (until 30 April: £985)"),
    ("It is closed in June.", "You may go–John did"),
    # ordinals of the same things
    ("In the first accident, the pilot lost control.", "The second accident was in a landing."),
    ("The first night shift starts early.", "The third shift starts early."),
    ("The first shift begins at 6.", "The second shift starts at 6."),
    ("He was the first president.", "He was the second president elected."),
    ("She finished in first place.", "She finished in the third position."),
    ("She finished in first place.", "The third lap was slow."),
    ("The first runner was fast.", "He was in third place."),
    ("The first runner was fast.", "He was third in it."),
    ("The third reviewer was angry.", "The second opinion was good."),
    # fractions
    ("One third of them agreed.", "Row one - third column"),
    ("Two thirds agreed.", "Step two - third screen"),
]
NOT_READ = [
    "Trois quarts d'heure suffisent.",
    "Un tiers a payé.",
]


def unsupported(answer: str, evidence: str) -> list[str]:
    found = check_literals(answer, 0, (read_evidence("C0", evidence),), version=SECOND)
    return [finding.text for finding in found if not finding.supported]


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), SUPPORTED)
def test_one_value_in_words_and_in_digits_is_the_same(answer: str, evidence: str) -> None:
    assert unsupported(answer, evidence) == []


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize(("answer", "evidence"), UNSUPPORTED)
def test_another_value_in_words_is_unsupported(answer: str, evidence: str) -> None:
    assert unsupported(answer, evidence)


@pytest.mark.contract("R5-8")
@pytest.mark.parametrize("answer", NOT_READ)
def test_words_with_another_meaning_are_no_fraction(answer: str) -> None:
    assert unsupported(answer, "The source has no number.") == []
