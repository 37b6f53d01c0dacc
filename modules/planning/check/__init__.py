"""What is certainly wrong with a plan before it runs, in words for the model."""
