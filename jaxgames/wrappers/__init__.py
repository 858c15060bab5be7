"""Games of this package in the interfaces of others, with the extra `[wrappers]`; each module needs the library it is called by."""
