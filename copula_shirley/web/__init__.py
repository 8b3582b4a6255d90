"""The page in the browser: a thin face of ``tasks``, for one curator on one machine."""
