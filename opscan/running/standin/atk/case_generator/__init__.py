"""Drawing of cases."""
