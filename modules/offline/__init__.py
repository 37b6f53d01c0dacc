"""The offline planner: writes `solve()` plans with a grammar instead of a language model.

A request is cut into tokens (`lexer`), parsed as a whole (`grammar`, over `expressions`,
`nouns`, `numerals`), and written as a plan (`writer`). What is no arithmetic is matched with the
tools on offer by words (`ranking`, `arguments`, `generic`). What fits neither is declined
(`refusal`): the planner is deterministic and never guesses.
"""
