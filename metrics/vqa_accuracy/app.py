"""The page of the Space."""
