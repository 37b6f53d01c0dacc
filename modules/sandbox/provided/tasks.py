"""`asyncio` for plans that make tasks, wait with a time limit, or gather exceptions.

The interpreter has `gather`, `run` and `sleep` alone. A task made by a plan begins at its next
`await`, together with all other tasks that have not begun, and that `await` lasts until they have
ended: results are those of Python, only some waits are longer. Those that nobody awaits are run to
their end before the plan ends. `wait_for` sets no limit: each tool call has its own.

The guard puts `awaited` around what is awaited, because the interpreter awaits only its own kinds.
"""

import re

NEEDS_TASKS = re.compile(
    r"\b(?:create_task|ensure_future|wait_for|return_exceptions|shield|to_thread"
    r"|asyncio\s*\.\s*TimeoutError)\b"
)
"""What a plan writes that the interpreter's own `asyncio` hasn't got."""

TASK_NAMES = (
    *("TimeoutError", "awaited", "create_task", "ended", "ensure_future", "gather", "run"),
    *("shield", "sleep", "to_thread", "wait_for"),
)

TASKS = """
    import asyncio as true
    class asyncio:
        pass
    run, sleep = true.run, true.sleep
    waiting = []

    class Task:
        def __init__(self, call):
            self.call, self.is_done, self.value, self.error = call, False, None, None
            waiting.append(self)

        async def work(self):
            try:
                self.value = await awaited(self.call)
            except {recursion_error}:
                {door}()
            except Exception as error:
                self.error = error
            self.is_done = True

        def done(self):
            return self.is_done

        def cancelled(self):
            return False

        def cancel(self):
            raise NotImplementedError("tasks can't be cancelled: leave it out")

        def exception(self):
            self.check()
            return self.error

        def result(self):
            self.check()
            if self.error is not None:
                raise self.error
            return self.value

        def check(self):
            if not self.is_done:
                raise NotImplementedError("this task has no result yet: await it where it was made")

    async def begun():
        tasks = waiting[:]
        waiting.clear()
        await true.gather(*[task.work() for task in tasks])

    async def result(task):
        await begun()
        return task.result()

    class Gathered:
        def __init__(self, calls, return_exceptions):
            self.calls, self.return_exceptions = calls, return_exceptions

    async def results(gathered):
        tasks = [call if isinstance(call, Task) else Task(call) for call in gathered.calls]
        await begun()
        if gathered.return_exceptions:
            return [task.value if task.exception() is None else task.error for task in tasks]
        return [task.result() for task in tasks]

    def gather(*calls, return_exceptions=False):
        if return_exceptions or waiting or any([isinstance(call, Task) for call in calls]):
            return Gathered(calls, return_exceptions)
        return true.gather(*calls)

    def awaited(call):
        if isinstance(call, Task):
            return result(call)
        if isinstance(call, Gathered):
            return results(call)
        return result(Task(call)) if waiting else call

    def create_task(call, name=None, context=None):
        return Task(call)

    ensure_future = create_task

    def wait_for(call, timeout=None):
        return call

    def shield(call):
        return call

    async def to_thread(function, *args, **kwargs):
        return function(*args, **kwargs)

    async def ended(outcome):
        tasks = waiting[:]
        await begun()
        for task in tasks:
            task.result()
        return outcome
"""
