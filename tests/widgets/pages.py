"""A page without a browser: a view of frames at the other end of a comm, acknowledging as a page does."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

from comm.base_comm import BaseComm
from mosaic_contract.fastlane import Hud
from peers.painter import hud_of, painted, visible_bits

from mosaic_lab.fastlane import Packet
from mosaic_lab.runs import Run
from mosaic_lab.widgets.frames import TARGET
from mosaic_lab.widgets.frames.frame_stream import FrameStream
from mosaic_lab.widgets.page.live_panel import LivePanel


def bring_up_to_date(panel: LivePanel) -> None:
    """Refresh a started, visible panel as the scheduler does."""
    panel.read_state()
    panel.draw()


class Page(BaseComm):
    """Shows runs of ``peers/painter.py``; records torn and stale frames, and HUDs of other frames."""

    def __init__(self, stream: FrameStream, runs: Sequence[Run], fps: float = 30.0) -> None:
        super().__init__(TARGET, primary=False)
        self.numbers: dict[int, list[int]] = defaultdict(list)  # frame numbers received, per tile
        self.notices: dict[int, str] = {}
        self.messages = 0
        self.wrong: list[str] = []
        self.acknowledges = True
        self._fps = fps
        self._tiles = list(range(len(runs)))
        self._inbox: SimpleQueue[tuple[dict[str, Any], list[bytes]]] = SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        tiles = [{"run": str(run.path)} for run in runs]
        stream.open(self, {"content": {"data": {"version": 1, "tiles": tiles, **self._wanted(self._tiles)}}})

    def look(self, tiles: Sequence[int]) -> None:
        """Report these tiles as visible."""
        self.send_to_kernel({"type": "look", **self._wanted(tiles)})

    def send_to_kernel(self, data: dict[str, Any]) -> None:
        self.handle_msg({"content": {"data": data}})

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Receive a message of the kernel."""
        if msg_type == "comm_msg":
            self._inbox.put((data, buffers or []))

    def end(self) -> None:
        """Close the page."""
        self._ended.set()
        self._thread.join(10)
        self.handle_close({"content": {"data": {}}})

    def _wanted(self, tiles: Sequence[int]) -> dict[str, Any]:
        return {"visible": list(tiles), "fps": self._fps, "paused": False}

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                data, buffers = self._inbox.get(timeout=0.1)
                getattr(self, f"_on_{data['type']}")(data, buffers)
            except Empty:
                continue
            except Exception as error:
                self.wrong.append(repr(error))

    def _on_frames(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.messages += 1
        for entry, buffer in zip(data["tiles"], buffers, strict=True):
            self._check(entry.pop("tile"), Packet(**{**entry, "hud": Hud(**entry["hud"])}, data=buffer))
        if self.acknowledges:
            self.send_to_kernel({"type": "ack", "id": data["id"]})

    def _on_pong(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        pass

    def _on_notices(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.notices.update({notice["tile"]: notice["text"] for notice in data["notices"]})

    def _on_failed(self, data: dict[str, Any], buffers: list[bytes]) -> None:
        self.wrong.append(data["text"])

    def _check(self, tile: int, packet: Packet) -> None:
        shape = packet.height, packet.width, packet.channels
        number = packet.hud.step or 0
        if painted(packet.decode().tobytes(), shape) != number & visible_bits(shape):
            self.wrong.append(f"the pixels of another frame than {number}")
        if packet.hud != hud_of(number):
            self.wrong.append(f"a HUD of two frames: {packet.hud}")
        if self.numbers[tile] and number <= self.numbers[tile][-1]:
            self.wrong.append(f"frame {number} after {self.numbers[tile][-1]}")
        self.numbers[tile].append(number)
