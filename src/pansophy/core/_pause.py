"""No search for garbage while loops are compiled.

Numba makes millions of objects that live as long as the process, and each search walks
over all of them: a tenth of the seconds that a first call takes. What a compilation
leaves behind is collected when it is over.
"""

import gc

from numba.core import event


class Pause(event.Listener):
    """Turns the collector off at the first of nested compilations, on after the last.

    Compilations hold one lock, so that no two threads are in here.
    """

    def __init__(self):
        self.depth, self.enabled = 0, False

    def on_start(self, event):
        if self.depth == 0:
            self.enabled = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event):
        self.depth -= 1
        if self.depth == 0 and self.enabled:
            gc.enable()


event.register("numba:compile", Pause())
