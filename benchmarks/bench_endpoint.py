"""Measure what asking costs besides the model: 3,000 segments x 5 samples x 2 systems, with a stub.

    python benchmarks/bench_endpoint.py

Each replica is a process, as in the workflow; once without answers, once with all answers kept. CPU is
user + sys of the job; the stub, another process, is not counted.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEGMENTS, SAMPLES, SYSTEMS = 3_000, 5, ("a", "b")


async def serve() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                asked = json.loads(await reader.readexactly(length))
                text = asked["messages"][-1]["content"][-60:] + str(asked["seed"] % 7)
                choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                usage = {"prompt_tokens": 20, "completion_tokens": 12}
                data = json.dumps({"model": "stub", "choices": [choice], "usage": usage}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def ask(url: str, folder: Path, system: str, replica: str) -> None:
    from replitune.backends.interface import ReplicaJob
    from replitune.backends.registry import get_backend
    from replitune.replicas import Replica

    source = [f"ein Satz mit der Nummer {n} , wie er in einem Korpus stehen mag ." for n in range(SEGMENTS)]
    prompt = "Translate from German to English. Answer with the translation alone.\n\n{source}"
    settings = {"url": url, "model": "m", "prompts": [prompt], "sampling": {"max_tokens": 200}}
    out, common = folder / f"{system}.{replica}.jsonl", folder / system
    job = ReplicaJob(seed=1, out=out, replica=Replica(replica), common=common)
    start = time.process_time()
    get_backend(system, settings, "endpoint").ask(job, "t", source)
    print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
        return
    if sys.argv[1:]:
        url, folder, system, replica = sys.argv[1:]
        ask(url, Path(folder), system, replica)
        return
    stub = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
    assert stub.stdout is not None
    url = f"http://127.0.0.1:{stub.stdout.readline().strip()}/v1"
    print("| 30,000 requests | CPU-ms each | peak MB of a job | bytes of the journal each |")
    print("|---|---:|---:|---:|", flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for what in ("from nothing", "all kept"):
                measured = [
                    subprocess.check_output(
                        [sys.executable, __file__, url, folder, system, f"sample-{k:03d}"]
                    )
                    for system in SYSTEMS
                    for k in range(1, SAMPLES + 1)
                ]
                rows = [list(map(float, text.split()[-2:])) for text in measured]
                ms = 1000 * sum(cpu for cpu, _ in rows) / (SEGMENTS * len(rows))
                size = sum(file.stat().st_size for file in Path(folder).glob("*/answers.jsonl"))
                peak, each = max(mb for _, mb in rows), size / (SEGMENTS * len(rows))
                print(f"| {what} | {ms:.3f} | {peak:.0f} | {each:.0f} |", flush=True)
    finally:
        stub.kill()


if __name__ == "__main__":
    main()
