"""Dense regions: DBSCAN, HDBSCAN, OPTICS."""
