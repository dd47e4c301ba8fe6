"""Many models as one: bags, forests, boosters, votes and stacks."""

__all__: list[str] = []
