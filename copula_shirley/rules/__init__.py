"""Rules between columns carried out: checks of rows, changes of coordinates, rejection."""
