"""The server: an HTTP interface to runs, and a page on which people ask, see why, and say yes or no. It needs the extra `serve`."""
