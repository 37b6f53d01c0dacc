"""What stands around the text of pages, as sites write it, with and without telling names."""

from collections.abc import Callable
from html import escape

from tests.evals.reading.content import NAMES, THINGS, TOPICS, Writer

Named = Callable[[str], str]
"""The class that a site gives to a part of that purpose."""


class Surroundings:
    """The parts of one site; `named` is how it calls them."""

    def __init__(self, writer: Writer, named: Named) -> None:
        """Texts are drawn from `writer`."""
        self._writer = writer
        self._named = named

    def part(self, name: str, inside: str, tag: str = "div") -> str:
        """An element under the site's name for its purpose."""
        return f'<{tag} class="{self._named(name)}">{inside}</{tag}>'

    def links(self, count: int, least: int = 1, most: int = 3) -> str:
        """A list of links."""
        chance = self._writer.chance
        words = (
            " ".join(chance.choice(TOPICS + THINGS) for _ in range(chance.randint(least, most)))
            for _ in range(count)
        )
        return (
            "<ul>"
            + "".join(f'<li><a href="/{w.replace(" ", "-")}">{w.title()}</a></li>' for w in words)
            + "</ul>"
        )

    def menu(self, tag: str = "nav") -> str:
        """The site's main menu, with menus in it."""
        inner = "".join(
            f"<div><span>{name.title()}</span>{self.links(4)}</div>" for name in THINGS[:5]
        )
        return self.part("main-nav", f'<a href="/">Coast Herald</a>{inner}', tag)

    def consent(self) -> str:
        """A banner on cookies, in whole sentences."""
        words = (
            "<p>We and our 842 partners store and access information on your device, such as "
            "cookies, to show you personal advertising and to measure how our content does. You "
            "can accept or refuse, and change your mind at any time.</p><button>Accept all</button>"
            '<a href="/privacy">More options</a>'
        )
        return self.part("cookie-banner", words)

    def trail(self) -> str:
        """Where the page stands in the site."""
        return self.part("breadcrumb", '<a href="/">Home</a> › <a href="/news">News</a> › Coast')

    def share(self) -> str:
        """Links to tell others."""
        names = ("Facebook", "X", "WhatsApp", "Mail", "Copy link")
        return self.part("share-bar", "Share: " + " ".join(f'<a href="#">{n}</a>' for n in names))

    def advert(self) -> str:
        """An advertisement with text of its own."""
        return self.part(
            "ad-slot",
            "<span>Advertisement</span><p>Save up to 40 % on boots for every kind of weather. "
            'Free returns within thirty days.</p><a href="https://ads.example/x">Shop now</a>',
        )

    def newsletter(self) -> str:
        """A box to give one's address in."""
        return self.part(
            "newsletter-signup",
            "<h3>Get the best of the coast in your inbox</h3><p>Sign up to our newsletter and "
            "never miss a story again. We send one letter a week, and you can leave at any time."
            '</p><form><input type="email"><button>Sign up</button></form>',
        )

    def related(self) -> str:
        """Other articles, with the beginning of each."""
        teasers = "".join(
            f'<div><h3><a href="/{n}">{escape(self._writer.title())}</a></h3>'
            f"<p>{escape(self._writer.sentence()[:90])}…</p></div>"
            for n in range(4)
        )
        return self.part("related-articles", f"<h2>More on this</h2>{teasers}")

    def side(self, tag: str = "aside") -> str:
        """A column with what others read."""
        inside = (
            f"<h2>Most read</h2>{self.links(6, 4, 8)}<h2>About us</h2><p>The Coast Herald has told "
            f"the news of the coast since 1871. {escape(self._writer.sentence())}</p>"
        )
        return self.part("sidebar", inside + self.advert(), tag)

    def comments(self, count: int = 4) -> str:
        """What readers say under a text."""
        said = "".join(
            f'<li class="{self._named("comment")}"><b>{name}</b> <time>3 days ago</time>'
            f"<p>{escape(self._writer.prose(1, 2))}</p><a href='#'>Reply</a></li>"
            for name in NAMES[:count]
        )
        return self.part("comments", f"<h2>{count} comments</h2><ol>{said}</ol>")

    def leftovers(self) -> str:
        """What endless scrolling has loaded already, and what waits for more."""
        return self.part(
            "infinite-scroll",
            f"<h2><a href='/next'>{escape(self._writer.title())}</a></h2><p>"
            f"{escape(self._writer.sentence()[:120])}… <a href='/next'>Continue reading</a></p>"
            "<div class='skeleton'>Loading more stories</div>",
        )

    def foot(self, tag: str = "footer") -> str:
        """The foot of all pages, with the law in it."""
        columns = "".join(self.links(5) for _ in range(3))
        words = (
            "<p>© 2026 Coast Herald Ltd. All rights reserved. No part of this site may be copied "
            "without written leave. The Coast Herald is not responsible for the content of other "
            "sites. Registered in Norwich under number 1871.</p>"
        )
        return self.part("site-footer", columns + words, tag)

    def hidden(self) -> str:
        """What nobody sees: a window that is not open, the state of the program."""
        return (
            '<div style="display:none" role="alertdialog"><p>Your session has ended. Please log in '
            'again to go on reading.</p></div><script>window.__STATE__={"title":"no"}</script>'
            "<template><p>A row that scripts fill in.</p></template>"
        )
