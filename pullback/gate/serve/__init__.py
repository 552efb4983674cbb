"""A model in production: versions that were checked, a server that guards its inputs and outputs, the way back."""
