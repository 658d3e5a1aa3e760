"""Mutated catalogs: an audit and a fix must bear whatever an editor, a merge or a machine does to a file."""
