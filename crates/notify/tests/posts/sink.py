"""A webhook receiver for tests: python3 sink.py STATUS [SECRET]

Prints its port, then a JSON line for each request it received; answers with STATUS (429 with Retry-After: 120). With a
secret it verifies the signature by the Standard Webhooks specification, written from its text ("verified"), and by the
specification's own library where that is installed ("library").
"""

import base64
import hashlib
import hmac
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

try:
    import standardwebhooks
except ImportError:
    standardwebhooks = None

status = int(sys.argv[1])
secret = sys.argv[2] if len(sys.argv) > 2 else None


def verified(headers, body):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(s, f"v1,{expected}") for s in headers["webhook-signature"].split(" "))


def verified_by_library(headers, body):
    try:
        standardwebhooks.Webhook(secret).verify(body.decode(), headers)
        return True
    except standardwebhooks.WebhookVerificationError:
        return False


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {k.lower(): v for k, v in self.headers.items()}
        seen = {"path": self.path, "headers": headers, "body": json.loads(body)}
        if secret:
            seen["verified"] = verified(headers, body)
            seen["library"] = verified_by_library(headers, body) if standardwebhooks else None
        print(json.dumps(seen), flush=True)
        self.send_response(status)
        if status == 429:
            self.send_header("retry-after", "120")
        self.send_header("content-length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
