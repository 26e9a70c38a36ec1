"""Results to and from other tools: tables, a folder for benchopt, and tables that other tools wrote."""
