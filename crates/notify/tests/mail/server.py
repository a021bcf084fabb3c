"""An SMTP server for tests: python3 server.py FOLDER BEHAVIOUR [CERTIFICATE KEY]

Prints its port, then lives until its standard input ends. Every message it takes is a file of FOLDER. BEHAVIOUR:
accept; greylist (the first RCPT of each recipient is 450); busy (451 after DATA); reject (550 after DATA);
unknown (550 at RCPT); some (the same but for ops@…); cut (takes the first message and closes the connection without an answer);
cut-data (closes the first connection inside DATA); no-tls (454 to the first STARTTLS); full (421 to the first connection).
With a certificate it offers STARTTLS and takes no mail without it.
"""

import asyncio
import ssl
import sys
from pathlib import Path

from aiosmtpd.smtp import SMTP

folder, behaviour = Path(sys.argv[1]), sys.argv[2]


class Handler:
    def __init__(self):
        self.seen = set()
        self.taken = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        if behaviour == "greylist" and address not in self.seen:
            self.seen.add(address)
            return "450 4.2.0 Greylisted, try again later"
        if behaviour == "unknown" or (behaviour == "some" and not address.startswith("ops")):
            return "550 5.1.1 No such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if behaviour == "busy":
            return "451 4.3.0 Too busy"
        if behaviour == "reject":
            return "550 5.7.1 Sender rejected"
        self.taken += 1
        header = f"X-Envelope: {','.join(envelope.rcpt_tos)} tls={session.ssl is not None}\r\n"
        path = folder / f"{self.taken:03}.part"
        path.write_bytes(header.encode() + envelope.content)
        path.rename(folder / f"{self.taken:03}.eml")
        if behaviour == "cut" and self.taken == 1:
            server.transport.abort()
            return "250 never seen"
        return "250 2.0.0 Accepted as 4Zx9"


class Faulty(SMTP):
    """A server whose first session goes wrong."""

    sessions = 0

    def connection_made(self, transport):
        # STARTTLS makes the connection a second time.
        if self.transport is None:
            Faulty.sessions += 1
            self.number = Faulty.sessions
        super().connection_made(transport)

    async def push(self, status):
        if behaviour == "full" and self.number == 1:
            await super().push("421 4.3.2 mx1.test Too many connections")
            self.transport.close()
            return
        await super().push(status)

    async def smtp_STARTTLS(self, arg):
        if behaviour == "no-tls" and self.number == 1:
            await self.push("454 4.7.0 TLS not available due to temporary reason")
            return
        await super().smtp_STARTTLS(arg)

    async def smtp_DATA(self, arg):
        if behaviour == "cut-data" and self.number == 1:
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            await self._reader.readline()
            self.transport.abort()
            return
        await super().smtp_DATA(arg)


async def main():
    handler, tls = Handler(), None
    if len(sys.argv) > 3:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[3], sys.argv[4])
    make = lambda: Faulty(handler, hostname="mx1.test", tls_context=tls, require_starttls=tls is not None)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(make, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
