"""Model backends behind `core.ports.TextModel`, one folder or file each.

`hosted` are services elsewhere, and whoever speaks OpenAI's protocol. All of them, and `ollama`, go
through `http`, which bounds what comes and words what fails; none tries anything twice. `choosing`
and `credentials` find a model, `serving` is what is done around every request: tries, the chain,
the budget.
"""
