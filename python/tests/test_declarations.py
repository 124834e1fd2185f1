"""What the package declares of the library is what the headers say: functions, structures, enumerations."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from nucleon import _library

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
HEADERS = sorted(INCLUDE.glob("nucleon/*.h"))

# Types of C that are not pointers.
SCALARS = {
    "bool": ctypes.c_bool, "int": ctypes.c_int, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t,
    "uint8_t": ctypes.c_uint8, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double, "float": ctypes.c_float,
}


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*(?:\\\n[^\n]*)*", " ", text, flags=re.S | re.M)


def declarations() -> dict[str, tuple[str, list[str]]]:
    """Functions of the headers: the type of the result, and those of the arguments."""
    found = {}
    for header in HEADERS:
        text = without_comments(header.read_text())
        for match in re.finditer(r"^([a-z_][\w \t*]*?[ *])(nuc_\w+)\((.*?)\)\s*(?:__attribute__.*?)?;", text,
                                 flags=re.S | re.M):
            result, name, arguments = match.groups()
            parts = split_arguments(arguments)
            found[name] = (result.strip(), [] if parts == ["void"] else parts)
    return found


def split_arguments(text: str) -> list[str]:
    parts, depth, part = [], 0, ""
    for character in " ".join(text.split()):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return parts + [part.strip()]


def expected(declaration: str, is_result: bool = False):
    """The types of ctypes that may stand for a type of C."""
    if "(*" in declaration:
        return [_library.WarnFunction if "message" in declaration else _library.ProgressFunction]
    stars = declaration.count("*")
    words = [w for w in re.findall(r"\w+", declaration.replace("*", " ")) if w != "const"]
    if words[0] in ("struct", "enum"):
        words = [" ".join(words[:2])]
    base = words[0]
    if stars == 0:
        if base == "void":
            return [None]
        return [ctypes.c_int] if base.startswith("enum") else [SCALARS[base]]
    if base == "char":
        return [ctypes.c_char_p] if stars == 1 else [ctypes.POINTER(ctypes.c_char_p)]
    structure = _library.STRUCTURES.get(base.removeprefix("struct "))
    if structure is not None:
        return [ctypes.POINTER(structure)]
    if base in SCALARS:
        pointed = ctypes.POINTER(SCALARS[base])
        return [pointed] if stars == 1 else [ctypes.POINTER(pointed)]
    # Objects of the library, and memory of any kind.
    return [ctypes.c_void_p] if stars == 1 else [ctypes.POINTER(ctypes.c_void_p)]


class Functions(unittest.TestCase):
    def test_are_those_of_the_headers(self):
        known = declarations()
        self.assertGreater(len(known), 100)
        for name, (result, *arguments) in _library.FUNCTIONS.items():
            with self.subTest(name):
                self.assertIn(name, known)
                of_result, of_arguments = known[name]
                self.assertIn(result, expected(of_result, True), of_result)
                self.assertEqual(len(arguments), len(of_arguments), of_arguments)
                for argument, declared in zip(arguments, of_arguments):
                    self.assertIn(argument, expected(declared), declared)

    def test_what_is_compared_can_differ(self):
        self.assertNotIn(ctypes.c_char_p, expected("size_t size"))
        self.assertNotIn(ctypes.POINTER(ctypes.c_char_p), expected("const char *path"))
        self.assertNotIn(ctypes.c_void_p, expected("const struct nuc_tensor_info *info"))


@unittest.skipIf(shutil.which("cc") is None, "there is no C compiler")
class Layout(unittest.TestCase):
    def test_structures_and_enumerators_are_those_of_the_compiler(self):
        lines, wanted = [], []
        for name, structure in _library.STRUCTURES.items():
            lines.append(f'printf("%zu\\n", sizeof(struct {name}));')
            wanted.append((f"sizeof {name}", ctypes.sizeof(structure)))
            for field, kind in structure._fields_:
                lines.append(f'printf("%zu\\n", offsetof(struct {name}, {field}));')
                lines.append(f'printf("%zu\\n", sizeof(((struct {name} *)0)->{field}));')
                wanted.append((f"{name}.{field}", getattr(structure, field).offset))
                wanted.append((f"sizeof {name}.{field}", ctypes.sizeof(kind)))
        for name, (prefix, words) in _library.ENUMS.items():
            for value, word in enumerate(words):
                lines.append(f'printf("%d\\n", (int)(enum {name}){prefix}{word.upper()});')
                wanted.append((f"{prefix}{word.upper()}", value))
        lines.append('printf("%lld\\n", (long long)NUC_NO_LABEL);')
        wanted.append(("NUC_NO_LABEL", _library.NO_LABEL))
        lines.append('printf("%d\\n", NUC_MAX_RANK);')
        wanted.append(("NUC_MAX_RANK", _library.MAX_RANK))
        includes = "".join(f'#include "nucleon/{h.name}"\n' for h in HEADERS if not h.name.startswith("Neutron"))
        source = f"#include <stdio.h>\n{includes}int main(void)\n{{\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "layout.c"
            path.write_text(source)
            subprocess.run(["cc", "-std=c11", "-I", str(INCLUDE), "-o", f"{folder}/layout", str(path)], check=True)
            printed = subprocess.run([f"{folder}/layout"], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(len(printed), len(wanted))
        for (what, here), there in zip(wanted, printed):
            self.assertEqual(here, int(there), what)

    def test_enumerations_are_whole(self):
        """An enumerator that a header has and the package does not would be another word there."""
        text = "".join(without_comments(h.read_text()) for h in HEADERS)
        for name, (prefix, words) in _library.ENUMS.items():
            if name == "nuc_dtype":  # made by a macro
                continue
            body = re.search(r"enum " + name + r" \{(.*?)\}", text, flags=re.S).group(1)
            there = [w.split("=")[0].strip() for w in body.split(",") if w.strip()]
            there = there[:-1] if there[-1].endswith("_COUNT") else there
            self.assertEqual([prefix + w.upper() for w in words], there, name)


if __name__ == "__main__":
    unittest.main()
