"""Whether each line of a log is what its schema says: python3 log-schema.py SCHEMA < log. Prints what is wrong."""

import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)


def distinct(pairs):
    """An object, whose names must differ: readers make different things of two."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


for number, line in enumerate(sys.stdin.buffer.read().split(b"\n")[:-1], 1):
    try:
        record = json.loads(line.decode("utf-8"), object_pairs_hook=distinct, parse_constant=float)
    except ValueError as error:
        print(f"line {number}: {error}: {line!r}")
        continue
    for error in validator.iter_errors(record):
        print(f"line {number}: {error.message}: {line!r}")
