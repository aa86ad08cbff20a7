"""The spellings of units of measure and currencies, and the name under which each is compared (R5-8)."""

from typing import Final

SPELLINGS: Final = """
% percent per-cent pct percentage percents
°c ℃ celsius degc
°f ℉ fahrenheit degf
bar bars barg
pa pascal pascals
kpa kilopascal kilopascals
mpa megapascal megapascals
psi psig
mm millimetre millimetres millimeter millimeters
cm centimetre centimetres centimeter centimeters
m metre metres meter meters
km kilometre kilometres kilometer kilometers
in inch inches
ft feet foot
mi mile miles
yd yard yards
mph
km/h kph
m/s
µm μm um micron microns
kg kilogram kilograms kilogramme kilogrammes
mg milligram milligrams
g gram grams gramme grammes
lb lbs pound pounds
oz ounce ounces
t tonne tonnes
ton tons
lbf
kgf
l litre litres liter liters
gal gallon gallons
pt pint pints
ml millilitre millilitres milliliter milliliters
s sec secs second seconds
min mins minute minutes
h hr hrs hour hours
d day days
wk week weeks
mo month months
yr yrs year years year-old years-old
hz hertz
khz
mhz
ghz
v volt volts
kv
a amp amps ampere amperes
ma milliamp milliamps
w watt watts
kw kilowatt kilowatts
mw megawatt megawatts
kwh
j joule joules
kj
cal calorie calories
kcal
ppm
n·m nm n-m n.m n⋅m newton-metre newton-metres
kn·m
kn
n newton newtons
rpm r/min min-1
db decibel decibels
gb gigabyte gigabytes
mb megabyte megabytes
kb
m3/h m³/h
l/min lpm
µs/cm μs/cm us/cm
us$ $ usd dollar dollars
€ eur euro euros
£ gbp
¥ jpy yen
"""
"""One unit per line, its name first."""

UNITS: Final = {spelling: line.split()[0] for line in SPELLINGS.strip().split("\n") for spelling in line.split()}
"""The unit's name for every spelling, case folded."""
