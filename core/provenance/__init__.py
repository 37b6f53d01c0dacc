"""Consent, and where the values come from that plans hand to tools.

Whoever writes a page or a document that the agent reads can write orders for the model into it,
and borders around such text (`borders`) only help against a model that heeds them. So the
dispatcher's side looks at a plan's calls by itself, and takes the planner for fooled (the idea of
dual-model and capability designs: Willison, "The Dual LLM pattern", 2023; Debenedetti et al.,
"Defeating Prompt Injections by Design", 2025; here without changing plans).

Calls that may change something (`effects`) need a yes: of a person who sees the whole call
(`core.asking`), or of a rule that the user wrote (`rules`, `permissions`). Words of a request allow
nothing. Once untrusted text was read, a rule without patterns covers only values that the user can
have given (`known`, `origins`).

Calls that only read are held against what the session has seen. Trusted are the user's words, the
configuration, and a plan that was written before any untrusted text was there. Untrusted is what
any tool gave, but those of the bundled math server and those that the profile marks as the user's.

* A URL, also inside longer text, must be trusted itself, or stand in the result of a link source
  (a search), or be a link in the result of a call that read a page of the same host (a leading
  `www.` ignored). Always checked. Another path or query is another URL, for there data leaves.
  The same host and not the same registrable domain: a domain's owner chooses its subdomains
  (`secret.evil.example` tells a name server all), and on `github.io` each belongs to another.
  Bundled tools may be given any fragment, which HTTP never sends; others may run a page's scripts.
* A path must be named by, or lie below a folder that is named by, a trusted text; or be named by a
  listing tool of the same server. An e-mail address, and a server's or tool's name in an argument
  for such names, must be trusted. Checked once untrusted text was read.
* What a plan written before that moment names holds for this plan, not for the next.
* In what is written for people a URL or an address may be quoted from a result, word for word.

`docs/security.md` says what this does not promise.
"""
