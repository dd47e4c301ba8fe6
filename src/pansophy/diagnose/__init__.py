"""What is wrong with the data or the model, said before it costs anything."""

from .conditioning import Conditioning, conditioning

__all__ = ["Conditioning", "conditioning"]
