"""Readers, one per format. Each turns a file into a `TripleTable`, or says in which line it cannot."""
