"""The commands: `add_` and its name adds a command's arguments, `run_` returns the exit status."""
