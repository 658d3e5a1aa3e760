"""Processes that work for a run, with limits: what crashes, hangs or fills memory takes only its own question along."""
