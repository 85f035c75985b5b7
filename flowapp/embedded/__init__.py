"""What starts when nothing is configured: PostgreSQL and Valkey from wheels, and the processes of `flow up`."""

from flowapp.embedded.errors import EmbeddedError
from flowapp.embedded.home import flow_home
from flowapp.embedded.services import ServiceAddresses, Services

__all__ = ["EmbeddedError", "ServiceAddresses", "Services", "flow_home"]
