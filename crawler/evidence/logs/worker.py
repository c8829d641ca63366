"""The process that counts lines of logs: text in on standard input, counts out on standard output.

It ends when its standard input does: then who started it is gone, or needs it no more.
"""

import gc
import os
import sys
from collections import deque

import msgspec

from crawler.evidence.logs.counter import Counter, Job
from crawler.evidence.logs.formats import told
from crawler.parse.protocol import encode, frame

_decode = msgspec.msgpack.Decoder(Job).decode


def main() -> None:
    """Serve until standard input ends."""
    gc.disable()  # rows are many, and no cycles among them
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    counter: Counter | None = None
    while packed := frame(source):
        job = _decode(packed)
        if job.sample is not None and (reader := told(job.format, job.sample)):
            counter = Counter(reader)
        texts = deque[bytes]()
        while text := frame(source):
            texts.append(text)
        if counter is None or text is None:
            return
        try:
            sink.write(encode(counter.share(texts, job.names)))
            sink.flush()
        except BrokenPipeError:  # nobody is there to hear about it
            os._exit(0)


if __name__ == "__main__":
    main()
