"""Uses the tools with the package `mcp` (pip install mcp), of a server that runs, or of one that it starts itself:

python3 client.py http://127.0.0.1:8080/mcp
python3 client.py drover mcp app.R
"""

import argparse
import asyncio
import base64
import os

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


async def use(server, mode):
    async with Client(server, mode=mode) as client:
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


parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="auto", help="legacy, for versions with a handshake")
parser.add_argument("server", help="a URL, or a command")
parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the command")
given = parser.parse_args()
if given.server.startswith("http"):
    server = given.server
else:
    server = StdioServerParameters(command=given.server, args=given.arguments, env=dict(os.environ))
asyncio.run(use(server, given.mode))
