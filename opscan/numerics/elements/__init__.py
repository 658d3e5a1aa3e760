"""The formula of one element of a compared tensor: which functions of which inputs, over how many addends."""
