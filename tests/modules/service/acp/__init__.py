"""The parts of the door for editors."""
