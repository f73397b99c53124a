"""Analysis: pictures of training and of what was learned."""
