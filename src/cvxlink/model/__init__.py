"""What is declared: variables, objective and constraints, how they print, and what they cite."""
