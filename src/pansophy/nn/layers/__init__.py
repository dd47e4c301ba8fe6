"""Layers: what nets are made of, from a dense map to attention and state spaces.

Each module is one kind of layer with its formula; `init` draws first weights. Kernels
for devices are next door, in modules whose names end in "_triton".
"""
