"""What is solved: programs as declarations and as data."""
