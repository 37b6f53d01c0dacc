"""What users might ask of 500 tools, and which tools would do: written by hand for the benchmark.

They were written with the methods' names at hand, not their descriptions. Every other one, from
the first on, was there to tune the ranking; the rest were held out.
"""

from typing import Final

REQUESTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("send an email to Ana that I'll be late", ("gmail.users.messages.send",)),
    (
        "put a meeting with Bob on my calendar for Friday at 10",
        ("calendar.events.insert", "calendar.events.quickAdd"),
    ),
    ("when are Ana and Bob both free tomorrow?", ("calendar.freebusy.query",)),
    ("what's on my agenda this week?", ("calendar.events.list",)),
    ("move the file report.pdf to the trash for good", ("drive.files.delete",)),
    (
        "share my budget file with dana@example.org so she can edit it",
        ("drive.permissions.create",),
    ),
    ("how much storage is left on my drive?", ("drive.about.get",)),
    ("add a row with today's expenses to my spreadsheet", ("sheets.spreadsheets.values.append",)),
    (
        "read cells A1 to C10 of the sales sheet",
        ("sheets.spreadsheets.values.get", "sheets.spreadsheets.values.batchGet"),
    ),
    ("create a new empty presentation called Kickoff", ("slides.presentations.create",)),
    (
        "translate 'good morning' into Portuguese",
        ("translate.projects.translateText", "translate.projects.locations.translateText"),
    ),
    (
        "which language is this text written in?",
        ("translate.projects.detectLanguage", "translate.projects.locations.detectLanguage"),
    ),
    ("search youtube for videos about sourdough", ("youtube.search.list",)),
    ("add this video to my playlist", ("youtube.playlistItems.insert",)),
    ("remind me to buy milk: add it to my to-do list", ("tasks.tasks.insert",)),
    ("tick off and clear all completed to-dos", ("tasks.tasks.clear",)),
    (
        "find the phone number of my contact Carla",
        ("people.people.searchContacts", "people.people.connections.list"),
    ),
    ("who answered my survey form?", ("forms.forms.responses.list", "forms.forms.responses.get")),
    ("enrol a new pupil in my course", ("classroom.courses.students.create",)),
    ("look up books by Ursula Le Guin", ("books.volumes.list",)),
    ("upload an object to my storage bucket", ("storage.objects.insert",)),
    ("run an SQL query over my warehouse tables", ("bigquery.jobs.query",)),
    ("publish a message to the topic orders", ("pubsub.projects.topics.publish",)),
    ("add an A record to my DNS zone", ("dns.resourceRecordSets.create", "dns.changes.create")),
    ("restart the database instance", ("sqladmin.instances.restart",)),
    (
        "read the current value of the secret db-password",
        (
            "secretmanager.projects.secrets.versions.access",
            "secretmanager.projects.locations.secrets.versions.access",
        ),
    ),
    (
        "what can be seen in this photo? label the image",
        (
            "vision.images.annotate",
            "vision.projects.images.annotate",
            "vision.projects.locations.images.annotate",
        ),
    ),
    ("transcribe this short voice recording", ("speech.speech.recognize",)),
    ("read this sentence aloud as an mp3", ("texttospeech.text.synthesize",)),
    ("is the tone of this review positive or negative?", ("language.documents.analyzeSentiment",)),
    (
        "search the web for lighthouse keepers",
        ("customsearch.cse.list", "customsearch.cse.siterestrict.list"),
    ),
    ("how fast does my web page load on phones?", ("pagespeedonline.pagespeedapi.runpagespeed",)),
    ("check whether these URLs are known for malware or phishing", ("safebrowsing.urls.search",)),
    ("publish a post on my blog", ("blogger.posts.insert", "blogger.posts.publish")),
    ("post a message in the team chat room", ("chat.spaces.messages.create",)),
    ("what is the air quality in Lisbon right now?", ("airquality.currentConditions.lookup",)),
    ("pollen forecast for the next days", ("pollen.forecast.lookup",)),
    (
        "how much solar power could the roof of my house give?",
        ("solar.buildingInsights.findClosest",),
    ),
    (
        "has somebody fact checked the claim that the moon is hollow?",
        ("factchecktools.claims.search",),
    ),
    (
        "CO2 emissions of a flight from Vienna to Boston",
        (
            "travelimpactmodel.flights.computeFlightEmissions",
            "travelimpactmodel.flights.computeTypicalFlightEmissions",
            "travelimpactmodel.flights.computeDetailedFlightEmissions",
        ),
    ),
    ("where do I vote in the next election?", ("civicinfo.elections.voterInfoQuery",)),
    ("restaurants near the station", ("places.places.searchNearby", "places.places.searchText")),
    ("is this postal address correct and complete?", ("addressvalidation.validateAddress",)),
    (
        "which search terms brought visitors to my site last month?",
        ("searchconsole.searchanalytics.query", "webmasters.searchanalytics.query"),
    ),
    ("pause the nightly cron job", ("cloudscheduler.projects.locations.jobs.pause",)),
    ("which fonts can I embed in my page?", ("webfonts.webfonts.list",)),
    (
        "set a monthly spending limit with alerts on our billing account",
        ("billingbudgets.billingAccounts.budgets.create",),
    ),
    ("show the error log entries of the last hour", ("logging.entries.list",)),
)
"""Each request with the ids of the methods that would do, any of them."""
