"""English words that tell little about what a text is on."""

_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being "
    "below between both but by can could did do does doing down during each few for from further "
    "had has have having he her here hers him his how i if in into is it its itself just me might "
    "more most my no nor not of off on once only or other our out over own same she should so "
    "some such than that the their them then there these they this those through to too under "
    "until up very was we were what when where which while who whom why will with would you your"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Left out of questions."""

_EVERYDAY_WORDS = (
    "able ago almost already also although always among another anything around ask away back bad "
    "become begin best better big bring call came case certain change city come common company "
    "consider country course current day days deal different done early easy else end enough even "
    "ever every everything example explain fact far feel find first follow form found full gave "
    "general get give given go goes going gone good got great group hand happen hard help high "
    "hold home house however idea important information instead keep kind know known large last "
    "late later least leave less let life like likely line list little live long look lot low "
    "made main make makes man many may mean means men mention method move much must name near "
    "need never new next nothing now number often old one open order others part people perhaps "
    "person place point possible problem provide put question quite rather really reason recent "
    "report result right said say says second see seem seen set several show side simple since "
    "small something sometimes soon still system take tell term thing things think three time "
    "times together told took toward try turn two type use used uses using usually want way ways "
    "well went whether whole within without word words work world write year years yes yet young "
    "0 1 2 3 4 5 6 7 8 9"
)
EVERYDAY_WORDS = STOP_WORDS | frozenset(_EVERYDAY_WORDS.split())
"""Found in a text by chance even where they are rare: no evidence that it is on the subject."""
