"""Judges payloads by what the services publish: python3 judge.py, with a JSON list of [service, payload] as its input.

Prints a JSON list with the complaints about each: Slack blocks by the models of slack_sdk, Adaptive Cards by the JSON schema
of their version.
"""

import importlib.util
import json
import sys

import jsonschema
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block


def slack(message):
    found = []
    for wanted in message["blocks"]:
        block = Block.parse(wanted)
        if block is None:
            found.append(f"{wanted['type']} is no block")
            continue
        try:
            read = block.to_dict()
            # What the model does not know is left out of what it writes.
            unknown = set(wanted) - set(read)
            found.extend(f"{wanted['type']} has no {name}" for name in unknown)
            for element in getattr(block, "elements", None) or []:
                if hasattr(element, "validate_json"):
                    element.validate_json()
            if getattr(block, "text", None) is not None:
                block.text.validate_json()
        except SlackObjectFormationError as e:
            found.append(f"{wanted['type']}: {e}")
    return found


def teams(message):
    folder = importlib.util.find_spec("adaptive_cards").submodule_search_locations[0]
    found = []
    for attachment in message["attachments"]:
        card = attachment["content"]
        with open(f"{folder}/schemas/schema-{card['version']}.json") as f:
            schema = json.load(f)
        # The schema accepts a card that it can read in one of two ways; the reasons are below that.
        for e in jsonschema.validators.validator_for(schema)(schema).iter_errors(card):
            best = jsonschema.exceptions.best_match([e])
            found.append(f"{best.json_path}: {best.message[:300]}")
    return found


print(json.dumps([{"slack": slack, "teams": teams}[service](payload) for service, payload in json.load(sys.stdin)]))
