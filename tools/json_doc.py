#!/usr/bin/python3
"""Makes docs/json.md of the schema of --json: json_doc.py docs/schema/nucleon.schema.json >docs/json.md"""

import json
import re
import sys
import textwrap

COLUMNS = 120

INTRODUCTION = """\
# Results as JSON

Every command accepts `--json`. It then prints exactly one object on standard output, also if it fails. Notes and the
error are members of the object, and without `--quiet` also lines on standard error. Texts are ASCII; bytes that are not
UTF-8 appear as `\\xNN`. In the library, the functions of `include/nucleon/json.h`, `nuc_explain()`,
`nuc_evaluation_json()`, `nuc_inspect_file()` and `nuc_report_json()` return the members of a command as text.

[schema/nucleon.schema.json](schema/nucleon.schema.json) is the JSON Schema (draft 2020-12) of what every command
prints. It is installed as `share/nucleon/nucleon.schema.json` and refuses unknown members. `tools/json_doc.py` generates
this page from the schema. The test `e2e.json` checks both.

| Exit code | `error` | Members of the command |
|---|---|---|
| 0 | null | all |
| 1: bad input, or an error of the system | `code` 1, `message` | none, or those that were known before the error |
| 2: a usage error | `code` 2, `message` | none |
| 3: a requirement is not met | `code` 3, `message` | all members of `explain`, `evaluate`, `merge-evaluations` and `tune`; for `compile`, the figures of the program that is too large |

This pipeline accepts a program only if it is fast, small and accurate enough:

<!-- check: needs jq -->
<!-- check: setup
cp examples/digits/digits.pt2 model.pt2
cp examples/digits/calibration.npz samples.npz
cp examples/digits/test.npz .
-->
<!-- check: run -->

```sh
nucleon compile model.pt2 --calibration samples.npz -o model.pte --memory-budget 64Ki --json >compile.json ||
    { jq -r .error.message compile.json; exit 1; }
jq -e '.cpu_float == 0 and .latency_us < 1000' compile.json
nucleon evaluate model.pte --dataset test.npz --reference model.pt2 --min-accuracy 95 --json >evaluate.json
jq '{accuracy: .outputs[0].classes.program.accuracy, sqnr: .sqnr_db, missed: .missed}' evaluate.json
```

These commands print why operators are not on the NPU, and which operators take the most time:

<!-- check: needs jq -->
<!-- check: run -->

```sh
nucleon explain model.pt2 --json | jq -r '.nodes[] | select(.fix) | "\\(.label) (\\(.file):\\(.line)): \\(.fix)"'
nucleon compile model.pt2 --calibration samples.npz -o model.pte --profile --quiet
nucleon run model.pte --input test.npz --output results.npz --profile --json |
    jq -r '.profile.rows | sort_by(-.cycles)[:5][] | "\\(.us) \\(.operator) \\(.label)"'
```

This script validates an output against the schema, with Debian's python3-jsonschema:

```python
import json, jsonschema
schema = json.load(open("/usr/local/share/nucleon/nucleon.schema.json"))
jsonschema.Draft202012Validator(schema).validate(json.load(open("compile.json")))
```

In the tables below, `list[].field` is a field of an object in a list, and an optional field may be absent. The name of a
field ends in its unit: `_bytes`, `_cycles`, `_us` (microseconds), `_db`, `_hz`, `_seconds`. The fields `cycles`, `bytes`
and `seconds` are units themselves.
"""


def is_object(node):
    return "properties" in node


class Document:
    def __init__(self, schema):
        self.definitions = schema["$defs"]

    def definition(self, ref):
        return self.definitions[ref.rpartition("/")[2]]

    def value(self, node):
        """A value of an enumeration."""
        return "null" if node is None else f'"{node}"' if isinstance(node, str) else str(node)

    def type_of(self, node, plural=False):
        """What a value may be, in words."""
        s = "s" if plural else ""
        if "$ref" in node:
            target = self.definition(node["$ref"])
            title = target["title"]
            if is_object(target):
                return f"[{title}](#{title.lower().replace(' ', '-')})"
            return title if " " in title else title + s
        if "const" in node:
            return self.value(node["const"])
        if "enum" in node:
            return ", ".join(self.value(item) for item in node["enum"])
        if "anyOf" in node:
            return " or ".join(dict.fromkeys(self.type_of(part, plural) for part in node["anyOf"]))
        words = {"string": "text", "object": "object", "integer": "integer", "number": "number", "boolean": "boolean"}
        types = node["type"] if isinstance(node["type"], list) else [node["type"]]
        names = {t: words[t] + s for t in words} | {"null": "null"}
        return " or ".join(self.list_of(node, s) if t == "array" else names[t] for t in types)

    def list_of(self, node, s):
        return f"list{s} of " + self.type_of(node["items"], True)

    def inner(self, node):
        """The object whose fields belong into the same table, and what stands before their names; None: none."""
        for part in node.get("anyOf", []):
            if is_object(part):
                return part, "."
        if is_object(node):
            return node, "."
        if "items" in node:
            found = self.inner(node["items"])
            return found and (found[0], "[]" + found[1])
        return None

    def required(self, node):
        """Fields that are there where nothing failed."""
        names = set(node.get("required", []))
        for part in [node.get("then", {}), *[rule["then"] for rule in node.get("allOf", [])]]:
            names |= set(part.get("required", []))
        return names

    def rows(self, node, before=""):
        required = self.required(node)
        for name, field in node["properties"].items():
            if "description" not in field:
                continue
            optional = "" if name in required else ", optional"
            yield f"| `{before}{name}` | {self.type_of(field)}{optional} | {field['description']} |"
            found = self.inner(field)
            if found:
                yield from self.rows(found[0], before + name + found[1])

    def table(self, node):
        rows = list(self.rows(node))
        return ["| Field | Type | Meaning |", "|---|---|---|", *rows, ""] if rows else []

    def section(self, heading, node):
        """Tables cannot be wrapped, prose is."""
        prose = textwrap.wrap(node["description"], COLUMNS, break_long_words=False, break_on_hyphens=False)
        return ["", heading, "", *prose, "", *self.table(node)]

    def scalar_rows(self):
        for node in self.definitions.values():
            if "title" in node and not is_object(node) and "$ref" not in node:
                what = node["description"]
                if "enum" in node:
                    what += " One of " + ", ".join(f"`{item}`" for item in node["enum"]) + "."
                yield f"| {node['title']} | {what} |"

    def lines(self):
        yield from INTRODUCTION.splitlines()
        yield from ["", "## Types", "", "| Type | Value |", "|---|---|", *self.scalar_rows(), ""]
        frame = self.definitions["frame"]
        yield from self.section("## " + frame["title"], frame)
        for node in self.definitions["commands"].values():
            yield from self.section("## nucleon " + node["title"], node)
        yield from ["", "## Objects in several places"]
        for node in self.definitions.values():
            if is_object(node) and node is not frame and "$ref" not in node:
                yield from self.section("### " + node["title"], node)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = "\n".join(Document(json.load(file)).lines()) + "\n"
    sys.stdout.write(re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n")


main()
