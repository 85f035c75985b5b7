"""Webhook triggers: signed requests from outside that queue a run of a pipeline."""
