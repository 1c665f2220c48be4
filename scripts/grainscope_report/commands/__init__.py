"""The commands, one module each: `register` adds its arguments, `run` returns the exit status."""
