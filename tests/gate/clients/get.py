"""Gets a URL by each of Python's clients named, and prints the bodies."""

import asyncio
import ssl
import sys
import urllib.parse
import urllib.request

url, names = sys.argv[1], sys.argv[2:]


async def by_asyncio():
    split = urllib.parse.urlsplit(url)
    tls = ssl.create_default_context() if split.scheme == "https" else None
    reader, writer = await asyncio.open_connection(
        split.hostname, split.port or (443 if tls else 80), ssl=tls)
    writer.write(f"GET {split.path} HTTP/1.1\r\nHost: {split.hostname}\r\n"
                 "Connection: close\r\n\r\n".encode())
    return (await reader.read()).partition(b"\r\n\r\n")[2].decode()


async def by_aiohttp():
    import aiohttp
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            answer.raise_for_status()
            return await answer.text()


def by_urllib():
    return urllib.request.urlopen(url).read().decode()


def by_requests():
    import requests
    answer = requests.get(url)
    answer.raise_for_status()
    return answer.text


def by_httpx():
    import httpx
    with httpx.Client() as client:
        answer = client.get(url)
        answer.raise_for_status()
        return answer.text


for name in names:
    found = globals()[f"by_{name}"]()
    print(asyncio.run(found) if asyncio.iscoroutine(found) else found, end="")
