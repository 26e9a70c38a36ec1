"""What is solved: programs, and the linear semidefinite program as data."""
