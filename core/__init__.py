"""The engine: loop, context, dispatcher, strategies, events and errors."""
