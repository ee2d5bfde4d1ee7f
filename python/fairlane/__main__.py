"""`python -m fairlane`."""

from fairlane_command import main

main()
