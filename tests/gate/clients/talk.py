"""A websocket by the library `websockets`: says words, prints what comes back."""

import asyncio
import sys

import websockets


async def main(url, *words):
    async with websockets.connect(url) as call:
        for word in words:
            await call.send(word)
            print(await call.recv())


asyncio.run(main(*sys.argv[1:]))
