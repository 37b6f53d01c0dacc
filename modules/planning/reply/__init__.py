"""The plan that a model's reply holds, in whatever form it came."""
