"""Uses the tools with the package `mcp`: python3 client.py http://127.0.0.1:8080/mcp (pip install mcp)."""

import asyncio
import base64
import sys

from mcp.client.client import Client


async def use(url, mode):
    async with Client(url, mode=mode) as client:
        print("version:", client.protocol_version)
        print("server:", client.server_info.name, "|", client.instructions)
        for tool in (await client.list_tools()).tools:
            print("tool:", tool.name, sorted(tool.input_schema["properties"]))

        result = await client.call_tool("stopping_distance", {"speed": 21})
        print("distance:", round(result.structured_content["feet"], 1))
        result = await client.call_tool("summarise_cars", {"column": "hp"})
        print("summary:", result.structured_content["n"], result.structured_content["mean"])

        result = await client.call_tool("histogram_cars", {"column": "mpg"})
        picture = result.content[0]
        print("picture:", picture.mime_type, base64.b64decode(picture.data)[1:4])

        heard = []

        async def hear(done, total, message):
            heard.append((done, total, message))

        result = await client.call_tool("bootstrap_mean", {"column": "mpg", "rounds": 300}, progress_callback=hear)
        print("interval:", result.structured_content["from"] < 20.09 < result.structured_content["to"])
        print("progress:", heard)

        result = await client.call_tool("bootstrap_mean", {"column": "colour"})
        print("refused:", result.is_error, result.content[0].text)


asyncio.run(use(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "auto"))
