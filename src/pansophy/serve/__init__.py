"""A saved model behind HTTP."""
