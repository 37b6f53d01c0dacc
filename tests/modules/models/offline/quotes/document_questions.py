"""A small works handbook, and plain questions about it, each with what is right.

`ANSWERED`: what the quoted sentence has to hold. `OPEN`: nothing in one sentence answers, so that
passages are shown, or nothing is found. `NEVER`: no question for documents.
"""

from typing import Final

HANDBOOK: Final[dict[str, str]] = {
    "welcome.md": """\
# Welcome to the Larkfield boatyard

We build and mend wooden boats. The yard was founded in 1962 by Edda Quist, who had learned the
trade in Bergen. Today it belongs to her grandson, Per Quist.

## Opening hours

- Monday to Friday: 7 to 16
- Saturday: 8 to 12

## Wifi

The network is called Larkfield-Guest. Its password is tern-and-tide. Ask at the desk if it fails.

## Parking

Cars park behind the sail loft. Bicycles are kept in the shed next to the crane. The gate code is
4711 and changes every month.

## Who to ask

| subject | person | telephone |
| --- | --- | --- |
| keys | Noor Haddad | 12 |
| pay | Bram Okafor | 15 |
| first aid | Lise Tanner | 20 |
""",
    "leave-and-pay.md": """\
# Leave and pay

## Leave

Everyone has 27 days of leave a year. Leave is asked for in writing, two weeks ahead. Per Quist
approves it. Up to five days may be taken over into the next year, until the end of March.

## Pay

Wages are paid on the 25th of each month. The night allowance is 3.50 euros an hour. Overtime is
paid at one and a half times the hourly rate.

## Sickness

Whoever is ill rings Noor Haddad before 8 in the morning. A doctor's note is needed from the third
day on.
""",
    "machines.txt": """\
Machines in the big hall

Band saw
The band saw was bought in 2009. Its blade is changed after every 40 hours of use. Gloves are
forbidden at the saw, because they are drawn into the blade.

Compressor
Drain the compressor every evening. The pressure must not exceed 9 bar. The compressor stands
under the stairs.

Steam box
The steam box reaches 98 degrees. Planks stay in it for one hour per inch of thickness. It takes
30 minutes to heat up.

Crane
The crane lifts 5 tonnes. Only Ole Bakke and Lise Tanner may drive the crane. It is inspected
twice a year.
""",
    "safety.md": """\
# Safety

## Fire

The assembly point is the slipway. Fire extinguishers hang beside every door. Varnish and rags are
stored in the red cabinet, since they may ignite.

## Accidents

A first-aid kit lies in the kitchen. Every accident is written into the blue book. Lise Tanner
checks the kit on the first Monday of each quarter.

## Waste

Oil goes into the yellow drum. The drum is emptied by Kestrel Recycling. A hazardous load is one
that weighs more than 200 kilos or holds solvents.
""",
}

ANSWERED: Final[tuple[tuple[str, str], ...]] = (
    ("what is the wifi password?", "tern-and-tide"),
    ("who founded the yard?", "Edda Quist"),
    ("when was the yard founded?", "1962"),
    ("who approves leave?", "Per Quist"),
    ("how many days of leave does everyone have?", "27 days"),
    ("when are wages paid?", "25th"),
    ("what is the night allowance?", "3.50"),
    ("what is the gate code?", "4711"),
    ("how often does the gate code change?", "every month"),
    ("where do cars park?", "sail loft"),
    ("where are the bicycles kept?", "shed"),
    ("who do I ask about first aid?", "Lise Tanner"),
    ("when was the band saw bought?", "2009"),
    ("why are gloves forbidden at the saw?", "drawn into the blade"),
    ("how often is the crane inspected?", "twice a year"),
    ("how many tonnes does the crane lift?", "5 tonnes"),
    ("how much does the crane lift?", "5 tonnes"),
    ("who may drive the crane?", "Ole Bakke"),
    ("where does the compressor stand?", "under the stairs"),
    ("how long does the steam box take to heat up?", "30 minutes"),
    ("what is the assembly point?", "slipway"),
    ("where is the assembly point?", "slipway"),
    ("where is the first-aid kit?", "kitchen"),
    ("who checks the first-aid kit?", ""),
    ("who empties the drum?", "Kestrel Recycling"),
    ("what is a hazardous load?", "200 kilos"),
    ("what is the telephone number for keys?", "12"),
    ("what are the opening hours?", "7 to 16"),
    ("where does the oil go?", "yellow drum"),
    ("who owns the yard, according to my documents?", ""),
    ("what do my documents say about overtime?", "one and a half"),
    ("according to my documents, when must sick people ring?", ""),
    ("when should I drain the compressor?", "every evening"),
    ("where can I park my car?", "sail loft"),
    ("how is overtime paid?", "one and a half"),
    ("how much is the night allowance?", "3.50"),
    ("where do the fire extinguishers hang?", "every door"),
    ("how hot does the steam box get?", "98 degrees"),
    ("what temperature does the steam box reach?", "98 degrees"),
    ("which temperature does the steam box reach", "98 degrees"),
)
"""An empty text: the words differ too much for a grammar, and passages are right."""

OPEN: Final[tuple[str, ...]] = (
    "how old is the yard?",
    "how old is the crane?",
    "what is steam?",
    "what is water?",
    "what is a crane?",
    "who built the crane?",
    "who is Edda Quist's father?",
    "when does the kitchen open?",
    "how many people work in the yard?",
    "how much does the crane cost?",
    "where is Bergen?",
    "why is the cabinet red?",
    "what is the password of the safe?",
    "what is the capital of France?",
    "who is the president of Norway?",
    "how do I heat up the steam box?",
    "what is the pressure of the tyres?",
    "what colour is the sail loft?",
    "how long is the slipway?",
    "when was Per Quist born?",
    "where is the yard?",
    "where is the crane?",
    "where is the band saw?",
    "what is the crane?",
    "what is the wifi called?",
    "how many doors are there?",
    "how many blades does the saw have?",
    "how much is the band saw?",
    "what happens in the hall?",
    "is smoking allowed in the hall?",
    "are gloves allowed at the crane?",
    "what do my documents say about whales?",
)

NEVER: Final[tuple[str, ...]] = (
    "what's the weather like?",
    "will it rain tomorrow?",
    "what is today's news?",
    "what is the latest news about boats?",
    "who is the current president of France?",
    "what is my name?",
    "when is my birthday?",
    "who am I?",
    "where do I live?",
    "how old am I?",
    "who are you?",
    "what can you do?",
    "how do you work?",
    "what are you?",
    "who made you?",
    "how are you?",
    "what is your name?",
)
