"""What can be computed: every primitive, with all its rules in one place."""
