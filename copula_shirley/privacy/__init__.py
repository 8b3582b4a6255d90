"""What privacy costs: ledger, accounting, noise, and what a guarantee means for a person."""
