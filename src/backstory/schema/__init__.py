"""What a session means: frozen structs that every other part speaks in. No input, no output."""
