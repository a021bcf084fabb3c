"""Reads a message with the mail parser of Python: python3 read.py FILE. Prints what a mail program would show, as JSON."""

import email
import json
import sys
from email import policy
from html.parser import HTMLParser

with open(sys.argv[1], "rb") as f:
    message = email.message_from_binary_file(f, policy=policy.default)


class Text(HTMLParser):
    """Visible text, and a check that every element is closed."""

    def __init__(self):
        super().__init__()
        self.text, self.open, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.links.append(dict(attributes).get("href"))
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if data.strip() and "style" not in self.open:
            self.text.append(data.strip())


html = Text()
# Mails about accounts are plain text.
body = message.get_body(("html",))
html.feed(body.get_content() if body else "")
html.close()
assert not html.open, html.open
print(
    json.dumps(
        {
            "headers": {k.lower(): str(v) for k, v in message.items()},
            "text": message.get_body(("plain",)).get_content(),
            "html": " ".join(html.text),
            "links": html.links,
            "defects": [str(d) for d in message.defects],
        }
    )
)
