"""`python -m devnet.cli`, in case the command is not on the path."""

from devnet.cli.main import main

main(prog_name="devnet")
