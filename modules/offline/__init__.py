"""The offline planner: writes `solve()` plans with a grammar instead of a language model.

It is deterministic and never guesses: a request that it does not understand as a whole, or that
has two readings, is declined with the reason (`refusal`).

| step | modules |
| --- | --- |
| decide | `planner` (web, arithmetic, documents, other tools), `perception` (intent and servers) |
| read words | `lexer` (tokens), `cursor` (a place in them), `vocabulary` (tables of phrases) |
| read numbers | `numerals`, `expressions` (operators), `items` (lists), `series` (counts) |
| read requests | `nouns`, `commands`, `grammar` (the EBNF; whole requests), `history` ("it") |
| build | `functions` (what names do with values), `tree` (the result of reading) |
| write arithmetic | `operations` (tool and Python of each), `arithmetic_plans` |
| ask documents | `document_questions` (which requests do), `document_plans` (quote what answers) |
| use the web | `web_searches`, `web_pages` (which requests do), `web_plans`, `web_summaries` |
| use any tool | `pieces` (of a request), `ranking`, `arguments`, `tool_plans` |
| decline | `refusal` (what is said), `web_refusals` (why a page is not enough) |
| share plans | `calls` (how a plan writes one), `quoting` (how it cuts texts, picks sentences) |
| share words | `asking` (what questions are made of), `schemas` (what a parameter takes) |

The readers are one class in layers, each on top of the one before it: `Cursor`, `NumberReader`,
`ExpressionReader`, `ItemReader`, `SeriesReader`, `NounReader`, `CommandReader`, `RequestReader`.
"""
