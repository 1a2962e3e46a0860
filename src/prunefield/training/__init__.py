"""Training: the step, the recipe, and the examples they see."""
