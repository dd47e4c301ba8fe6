"""Hidden vectors: Kalman filters, linear and not, switching, structural, particles."""
