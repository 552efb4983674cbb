"""The transformations as users call them: on functions of pytrees."""
