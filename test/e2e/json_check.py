#!/usr/bin/python3
"""Checks outputs of --json: json_check.py SCHEMA COMMAND:EXIT_CODE:FILE ...

Each file holds one object that the schema takes and whose `error` is that of the exit code. The test can fail: the
schema refuses each of these objects with a member more, on every level, but for those that are open. Members that the
schema describes and no file has are printed, unless they are rare.
"""

import json
import re
import sys

import jsonschema

# Objects whose members are named by the file that is described.
OPEN = {
    "inspect nodes[].args",
    "inspect subgraphs[].operators[].options",
    "report compare.old.summary",
}

# What damaged and foreign files have, or programs of other converters.
RARE = re.compile(
    r"inspect (neutron_graphs\[\]\.damaged|named_data\[\]\.damaged|lint\[\]\..*"
    r"|methods\[\]\.values\[\]\.number|methods\[\]\.chains\[\]\[\]\.number)"
)

failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL " + text, file=sys.stderr)


def objects(value, path):
    """Each object in the value with its path, "COMMAND a.b[].c"."""
    if isinstance(value, dict):
        yield path, value
        for name, member in value.items():
            yield from objects(member, path + ("" if path.endswith(" ") else ".") + name)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item, path + "[]")


def check_sums(what, value):
    """Operators of the CPU compute in int8, int16, integers or float."""
    for path, each in objects(value, what + " "):
        parts = [each.get(name) for name in ("on_cpu", "cpu_int8", "cpu_int16", "cpu_integers", "cpu_float")]
        if all(type(part) is int for part in parts) and parts[0] != sum(parts[1:]):
            fail(f"{path}: on_cpu {parts[0]}, but int8, int16, integers and float {parts[1:]}")


def causes(error):
    return [cause for part in error.context for cause in causes(part)] if error.context else [error]


def say_invalid(validator, what, value):
    """The deepest error: what is around a part that does not fit does not fit either."""
    error = max((c for e in validator.iter_errors(value) for c in causes(e)), key=lambda e: len(e.absolute_path))
    place = "/".join(str(part) for part in error.absolute_path)
    fail(f"{what}: the schema refuses {place or 'the object'}: {error.message[:300]}")


def check_error(what, command, code, value):
    error = value.get("error")
    if "error" not in value and command == "report" and code in (0, 3):
        return
    if (error and error["code"] or 0) != code:
        fail(f"{what}: exit code {code}, but error is {error}")
    if value["command"] != command:
        fail(f"{what}: command is {value['command']}")


def check_refusal(validator, command, value, known):
    for place, part in objects(value, command + " "):
        if place in known:
            continue
        known.add(place)
        part["a_new_member"] = 1
        if validator.is_valid(value) != (place in OPEN):
            fail(f"{place}: a member that the schema does not have is {'refused' if place in OPEN else 'taken'}")
        del part["a_new_member"]


def described(schema, node, path, found):
    """Members that the schema describes below a node of it: by member of the schema the paths where it may be."""
    if "$ref" in node:
        target = schema
        for part in node["$ref"].split("/")[1:]:
            target = target[part]
        if target is not node and target.get("title") != "argument":
            described(schema, target, path, found)
    for part in node.get("anyOf", []):
        described(schema, part, path, found)
    if "items" in node:
        described(schema, node["items"], path + "[]", found)
    for name, member in node.get("properties", {}).items():
        below = path + ("" if path.endswith(" ") else ".") + name
        found.setdefault(id(member), []).append(below)
        if name != "command" and "description" not in member:
            fail(f"the schema does not describe {below}")
        described(schema, member, below, found)


def check_use(schema, seen):
    """What several commands have is in an output of one of them."""
    found = {}
    for node in schema["$defs"]["commands"].values():
        described(schema, node, node["title"] + " ", found)
    for paths in found.values():
        if not seen.intersection(paths) and not any(RARE.match(path) for path in paths):
            fail(f"no output of this test has '{paths[0]}'")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    known, seen = set(), set()
    for argument in sys.argv[2:]:
        command, code, name = argument.split(":", 2)
        what = f"{command}, {name}"
        try:
            with open(name, encoding="ascii") as file:
                value = json.load(file)
        except ValueError as error:
            fail(f"{what}: is no JSON: {error}")
            continue
        if not validator.is_valid(value):
            say_invalid(validator, f"{what} ({value.get('invocation')})", value)
            continue
        check_error(what, command, int(code), value)
        check_sums(what, value)
        for path, part in objects(value, command + " "):
            seen |= {path + ("" if path.endswith(" ") else ".") + key for key in part}
        check_refusal(validator, command, value, known)
    check_use(schema, seen)
    sys.exit(failures > 0)


main()
