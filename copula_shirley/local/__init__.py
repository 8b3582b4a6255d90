"""People's own reports: each person perturbs one answer on her device, and nobody is trusted."""
