"""Files opened exactly as they were judged, and what their bytes are."""
