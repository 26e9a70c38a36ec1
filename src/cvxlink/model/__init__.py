"""What is declared: formulations, their declarations, and how they print themselves."""
