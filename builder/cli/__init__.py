"""The command line: a module for each group of commands, which parses, calls one function and prints.

In: words of a shell. Out: text for people, JSON for programs, exit code 2 with one line for an error of the user.
Nothing heavy is imported before a command runs.

Start reading at `main`, then `build`.
"""
