"""Games of this package in the interfaces of others: the extra `[wrappers]`. Each module needs the library of its name."""
