"""The offline planner: writes `solve()` plans with a grammar instead of a language model.

It is deterministic and never guesses: a request that it does not understand as a whole, or that
has two readings, is declined with the reason (`refusal`).

| step | where |
| --- | --- |
| decide | `planner` (web, arithmetic, documents, other tools, everyday) |
| understand | `arithmetic/`, `everyday/`, `web/`, `quotes/` (documents), `tools/` (any other) |
| decline | `refusal` (what is said) |
| share | `plan_source` (how a plan is written), `history` (what came before), `welcome` (help) |
"""
