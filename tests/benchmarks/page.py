"""A page that only counts: it receives the widgets' messages in place of a kernel's comms."""

from __future__ import annotations

from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from jupyter_client.session import Session


class CountingComm(BaseComm):
    """Serialises every message as a kernel would and counts its bytes."""

    session = Session()
    sent = 0

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        content = {"data": data or {}, "comm_id": self.comm_id, **keys}
        parts = self.session.serialize(self.session.msg(msg_type, content, metadata=metadata or {}))
        CountingComm.sent += sum(map(len, parts)) + sum(memoryview(buffer).nbytes for buffer in buffers or ())


def count_what_is_sent(patch: pytest.MonkeyPatch) -> None:
    """Make widgets created from now on send to the counting page."""
    patch.setattr(comm, "create_comm", CountingComm)
