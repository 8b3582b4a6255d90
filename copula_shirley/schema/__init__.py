"""What a table may hold: public."""
