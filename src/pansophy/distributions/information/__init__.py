"""Information: entropies, divergences, transport, description lengths."""
