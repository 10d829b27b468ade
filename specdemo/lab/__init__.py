"""The rule by numbers of one's own: exact laws, draws, and wrong rules beside the right one. No page and no figure."""
