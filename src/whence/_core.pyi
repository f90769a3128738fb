"""The compiled core of whence: searches over the boxes of a forest and of nearest neighbours."""
