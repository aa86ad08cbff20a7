"""The command line: one file a group of commands; heavy imports happen inside the command that needs them."""
