"""Times of a model, cold and warm, in processes of its own; and whether two differ by more than the noise."""
