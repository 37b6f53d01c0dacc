"""What a model is asked: tools as text, templates filled, examples, and texts made short enough."""
