"""Webhook triggers: signed requests that queue a run of a pipeline."""
