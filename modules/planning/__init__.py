"""From a request to a plan that may run: what a model is asked, and what is made of its reply."""
