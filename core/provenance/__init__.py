"""Where the values come from that plans hand to tools: what a page may cause, and what not.

Whoever writes a page or a document that the agent reads can write orders for the model into it,
and borders around such text (`borders`) only help against a model that heeds them. So the
dispatcher's side holds a plan's calls against what it has seen itself, and takes the planner for
fooled (the idea of dual-model and capability designs: Willison, "The Dual LLM pattern", 2023;
Debenedetti et al., "Defeating Prompt Injections by Design", 2025; here without changing plans).

The rule
--------
Trusted are the user's words (requests of the session, answers to what a run asked), the
configuration, and a plan that was written before any untrusted text was there. Text is untrusted
that any tool gave, but those of the bundled math server. Then, for each call:

* A URL, also inside longer text, must be trusted itself, or stand in the result of a link source
  (a search), or be a link in the result of a call that read a page of the same host (a leading
  `www.` ignored). Always checked. Another path or query is another URL, for there data leaves.
  The same host and not the same registrable domain: a domain's owner chooses its subdomains
  (`secret.evil.example` tells a name server all), and on `github.io` each belongs to another.
  Bundled tools may be given any fragment, which HTTP never sends; others may run a page's scripts.
* A path must be named by, or lie below a folder that is named by, a trusted text; or be named by a
  listing tool of the same server. Checked once untrusted text was read: before that, nothing but
  the user and the model can have chosen it. So a *model* that names a file unasked is not stopped
  here, until it has read something.
* An e-mail address must be trusted. Checked from the same moment on.
* A call that may change something must be asked for by this request, or, if that only says yes, by
  the one before: by the tool's name, or by a verb for what it does and words for what it does that
  to (`asked`). Else the user is asked, with all its arguments, and a yes covers these arguments;
  one that is to hold for longer covers a target that no page can widen (`permissions`).
  Always checked, whatever was read (`ProvenancePolicy.approvals`), and in a plan by hand too. Where
  the server does not say whether its tool changes anything, its name's first word does (`effects`).
* A server id or a tool's qualified name, as the argument of a tool that takes such, must be
  trusted, from the moment on when untrusted text was read.
* What a plan written before that moment names holds for this plan, not for the next.
* In what is written for people (a note's content, a message's body) a URL or an address may be
  quoted from a result, word for word: what is copied carries nothing out.

What it does not promise
------------------------
* It follows values, not data. A secret in the query of an allowed search, or in the text of an
  allowed note or answer, passes. So does a choice: which of a page's links is opened tells its
  owner some bits.
* What a server does with a value, redirects included, is the server's: see `servers.web` for ours.
* Of a call that was asked for, recipients (but e-mail addresses), amounts and ids are not checked:
  who asks for a bill to be paid lets a page say to whom, and how much.
* Descriptions of tools count as configuration, though a server writes them.
* Hints and names are the server's own word: one that calls a writing tool read-only, or `get_…`, is
  believed (its definition is pinned, see `core.dispatch.tool_pins`).
* What stands in the user's words counts whatever was meant, also in text that they have pasted.
* A session that another process began is known to have read something, but not which links.
* Links of files (symlinks) are not followed here, and no encoding but percent and HTML's is read.
* Words for what a tool does are known in English; in other languages its name has to be said.
"""
