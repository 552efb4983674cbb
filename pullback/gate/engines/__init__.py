"""The engines the gate can drive; each module imports its library, so load one with `engine.load`."""
