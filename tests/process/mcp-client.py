"""The official client of the Model Context Protocol, for tests/process/test-mcp-stdio.R: what its users do with calls
that last, are given up, or lose their worker.

mcp-client.py MODE MARKS URL|COMMAND ARGUMENT...

MARKS is the folder of the handlers' marks and gates (../lib/gates.R). Prints a line for each step; the first that is
not as it should be ends it with an error.
"""

import asyncio
import os
import pathlib
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

mode, marks, target, *arguments = sys.argv[1:]
marks = pathlib.Path(marks)


async def marked(name):
    # the test that has started this program ends it when it takes too long
    while not (marks / name).exists():
        await asyncio.sleep(0.01)


async def text(client, *call, **options):
    return (await client.call_tool(*call, **options)).content[0].text


async def use(client):
    print("version:", client.protocol_version)
    print("tools:", sorted(tool.name for tool in (await client.list_tools()).tools))
    print("sum:", await text(client, "add", {"x": 1, "y": 2}))

    heard = []

    async def hear(done, total, message):
        heard.append(done)
        if len(heard) == 2:
            # the call waits for what the client says meanwhile
            print("meanwhile:", await text(client, "add", {"x": 3, "y": 4}))
            (marks / "steps.open").touch()

    print("steps:", await text(client, "steps", progress_callback=hear), heard)

    call = asyncio.create_task(client.call_tool("stand", {"name": "given-up"}))
    await marked("given-up")
    call.cancel()
    await marked("interrupted")
    print("given up:", (await asyncio.gather(call, return_exceptions=True))[0].__class__.__name__)

    for options in ({}, {"progress_callback": lambda *_: asyncio.sleep(0)}):
        try:
            await client.call_tool("die", **options)
        except MCPError as error:
            print("died:", error.error.code)
    print("afterwards:", await text(client, "add", {"x": 5, "y": 6}))


async def main():
    is_url = target.startswith("http")
    server = target if is_url else StdioServerParameters(command=target, args=arguments, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        await use(client)
    print("closed")


asyncio.run(main())
