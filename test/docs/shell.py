"""Commands of pages: looked at without running them, and run in the folder of a page."""

import json
import os
import re
import shlex
import subprocess
import threading

# Programs that pages may call besides nucleon's, the project's scripts and what a block itself makes.
KNOWN = set(
    """. : [ adduser apt apt-cache apt-get arm-none-eabi-gcc arm-none-eabi-objdump arm-none-eabi-size awk bash cat cc cd
    chmod cmp cp curl cut date debootstrap diff dot dpkg echo env exit export false field find gcc git grep gunzip
    gzip head jq jupyter ls make man mkdir mktemp mv nice objdump od openocd openssl parallel paste pip pip3 pkg-config
    printf pwd pytest python python3 qemu-aarch64 qemu-system-arm rm sbatch sed seq set sh sort srun su sudo tail
    tar tee test time touch tr true unset unzip update-alternatives useradd valgrind wc xargs zip""".split()
)
RESERVED = {"for", "while", "until", "if", "then", "else", "elif", "do", "done", "fi", "in", "case", "esac", "{", "}", "!"}
PLACEHOLDER = re.compile(r"\b(?!README|CMakeLists)[A-Z]{2,}[A-Z0-9_]*\b|\.\.\.|\[|\]|<[a-z]+>")


class Tools:
    """What commands may name: commands and options of nucleon, targets of make, presets, tests."""

    def __init__(self, nucleon, build, project):
        self.nucleon, self.build, self.project = nucleon, build, project
        self.options = {}
        for command in re.findall(r"^  ([a-z][a-z-]+) {2,}", self.help(), re.M):
            self.options[command] = self._options(self.help(command))
        with open(os.path.join(project.root, "Makefile"), encoding="utf-8") as file:
            self.makefile = file.read()
        self.goals = set(re.findall(r"^([a-z][\w-]*):", self.makefile, re.M))
        with open(os.path.join(project.root, "CMakePresets.json"), encoding="utf-8") as file:
            presets = json.load(file)
        self.presets = {preset["name"] for preset in presets["configurePresets"] + presets.get("buildPresets", [])}
        listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=False).stdout
        self.tests = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.M)
        self.empty = None

    def help(self, command=None):
        words = [self.nucleon, "help"] + ([command] if command else [])
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    @staticmethod
    def _options(text):
        """Of a command's help: by option its choices, None without."""
        found = {}
        for short, name, value in re.findall(r"^ {2}(?:(-\w), | {4})(--[\w-]+)(?: (\S+))?", text, re.M):
            choices = value.split("|") if "|" in value else None
            if choices and any(choice.isupper() for choice in choices):  # "builtin|COMMAND": any
                choices = None
            found[name] = choices
            if short:
                found[short] = choices
        return found


def simple_commands(text):
    """The simple commands of a command line: lists of words, without assignments and redirections."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n.*?\n\1\b", r"\2", text, flags=re.S)
    text = re.sub(r"\$\(\((?:[^()]|\([^()]*\))*\)\)", "1", re.sub(r"\w+\(\) \{", "{", text))
    inner = re.findall(r"\$\(([^()]*)\)", text)
    words, found = [], []
    bare = re.sub(r"(^|[\s;])#[^\n]*", r"\1", re.sub(r"\$\([^()]*\)", "x", text)).replace("\n", " ; ")
    lexer = shlex.shlex(bare, posix=True, punctuation_chars=";|&<>()")
    lexer.whitespace_split, lexer.commenters = True, ""
    skip = False
    for word in lexer:
        if re.fullmatch(r"[;|&()]+", word):
            found.append(words)
            words = []
        elif re.fullmatch(r"[<>&]+", word):
            skip = True
            if words and words[-1] in "012":
                words.pop()
        elif skip:
            skip = False
        else:
            words.append(word)
    found.append(words)
    result = []
    for words in found:
        while words and (words[0] in RESERVED or re.match(r"\w+=", words[0])):
            if words[0] in ("for", "case", "in"):
                words = []
            else:
                words = words[1:]
        if words:
            result.append(words)
    for text in inner:
        result += simple_commands(text)
    return result


# What nucleon says to a call that names a command and an option of it, in the middle of a sentence.
INCOMPLETE = re.compile("an argument is missing|needs a value|say which")


def is_synopsis(text):
    return bool(PLACEHOLDER.search(re.sub(r"'[^']*'|\"[^\"]*\"|\$\w+|\b\w+=", "", text)))


def check_nucleon(words, tools, part):
    """What is wrong with a call of nucleon, or None."""
    if len(words) == 1:
        return None
    command = words[1]
    if command in ("help", "--help", "--version") or command == "COMMAND":
        return None
    if command not in tools.options:
        return f"nucleon has no command '{command}'"
    options = tools.options[command]
    flat = []
    for word in words[2:]:
        flat += [part for part in re.sub(r"[\[\]]", " ", word).split() if part != "..."]
    parts = []
    for word in flat:
        parts += word.split("|") if word.startswith("--") and "|--" in word else [word]
    for at, word in enumerate(parts):
        name, _, value = word.partition("=")
        if not re.match(r"--?[A-Za-z]", word):
            continue
        if name not in options:
            return f"'nucleon {command}' has no option '{name}'"
        choices = options[name]
        value = value or (parts[at + 1] if at + 1 < len(parts) else "")
        if choices and re.fullmatch(r"[a-z][\w-]*(\|[a-z][\w-]*)*", value) and not set(value.split("|")) <= set(choices):
            return f"'{name}' of 'nucleon {command}' takes {', '.join(choices)}, not '{value}'"
    if is_synopsis(" ".join(words)) or any("$" in word or "*" in word for word in words) or tools.empty is None:
        return None
    # Really called, where none of its files is there: a mistake in usage is found before.
    call = subprocess.run([tools.nucleon] + words[1:], cwd=tools.empty, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if call.returncode != 2 or (part and INCOMPLETE.search(call.stderr)):
        return None
    return call.stderr.strip()


def check_build(path, tools):
    """A path below build/: it is there, or CMake makes a program or library of that name."""
    name = os.path.basename(path.rstrip("/"))
    below = path.split("/", 2)[2] if path.count("/") >= 2 else ""
    if not below or os.path.exists(os.path.join(tools.build, below)) or re.search(r"\.(elf|map|md|html|pte)$", name):
        return None
    return None if name in tools.project.words else f"'{path}' is made by nothing in the project"


def check_words(words, tools, page, made, part=False):
    """What is wrong with a simple command, or None. made: files that the page's commands made or prepared."""
    program = words[0]
    if program in ("sudo", "nice", "time", "env", "exec", "xargs"):
        rest = words[1:]
        while rest and (rest[0].startswith("-") or re.match(r"\w+=|\d+$", rest[0])):
            rest = rest[1:]
        return check_words(rest, tools, page, made, part) if rest else None
    if program == "nucleon" or program == "build/release/nucleon":
        return check_nucleon(words, tools, part)
    if program == "make":
        for word in words[1:]:
            name, sign, _ = word.partition("=")
            if sign and name not in tools.project.words:
                return f"'{name}' is no variable of the Makefile"
            if not sign and re.match(r"[a-z]", word) and word not in tools.goals and "-C" not in words:
                return f"'{word}' is no goal of the Makefile"
        return None
    if program == "cmake":
        for option, value in zip(words[1:], words[2:]):
            if option == "--preset" and value not in tools.presets and not PLACEHOLDER.search(value):
                return f"'{value}' is no preset of CMakePresets.json"
        for word in words[1:]:
            name = re.match(r"-D(NUCLEON_\w+)", word)
            if name and name[1] not in tools.project.words:
                return f"'{name[1]}' is no option of CMake here"
        return None
    if program == "ctest":
        for option, value in zip(words[1:], words[2:]):
            if option == "-R" and tools.tests and not any(re.search(value, name) for name in tools.tests):
                return f"no test of ctest is '{value}'"
        return None
    if program in ("sh", "bash", "python3", "/usr/bin/python3") and len(words) > 1 and not words[1].startswith("-"):
        script = words[1]
        known = tools.project.has(script, page.name) or PLACEHOLDER.search(script) or made & set(script.split("/"))
        return None if known else f"'{script}' is no file of the project"
    if program.startswith("build/"):
        return check_build(program, tools)
    if "/" in program:
        known = tools.project.has(program.removeprefix("./"), page.name) or os.path.basename(program) in made
        return None if known else f"'{program}' is no file of the project"
    if program in KNOWN or program in made or PLACEHOLDER.fullmatch(program) or program.startswith("$"):
        return None
    return f"'{program}' is no command that the checks know (KNOWN in test/docs/shell.py)"


def check_text(text, tools, page, made, part=False):
    """What is wrong with a command line, or None: every command in it by itself. part: it need not be complete."""
    if (is_synopsis(text) or part) and re.match(r"nucleon |build/", text) and not re.search(r"[;&\n]| \| ", text):
        return check_words(text.split(), tools, page, made, part)
    try:
        for words in simple_commands(text):
            wrong = check_words(words, tools, page, made, part)
            if wrong:
                return wrong
    except ValueError as error:
        return f"the shell cannot read it: {error}"
    return None


def close(process):
    try:
        process.communicate()
    except (BrokenPipeError, ValueError):
        process.wait()


class Shell:
    """A shell that lives as long as a page: folder and variables stay from command to command."""

    def __init__(self, folder, environment, seconds):
        self.folder, self.environment, self.seconds = folder, environment, seconds
        self.out = os.path.join(os.path.dirname(folder), os.path.basename(folder) + ".out")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["sh"], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)

    def run(self, command):
        """Exit code and what was printed, both streams in one. A command that ends the shell gives the shell's code, and
        the next one runs in a new one."""
        if not self.process:
            self.start()
        timer = threading.Timer(self.seconds, self.kill)
        timer.start()
        try:
            self.process.stdin.write(f"{{ {command}\n}} </dev/null >'{self.out}' 2>&1\necho code $?\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        with open(self.out, encoding="utf-8", errors="replace") as file:
            printed = file.read()
        if line.startswith("code "):
            return int(line[5:]), printed
        code = self.process.wait()
        self.process = None
        return code, printed

    def kill(self):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass

    def close(self):
        if self.process:
            close(self.process)


# Runs blocks of Python one after the other with the same variables: they come in, and what they print goes out, framed by
# their lengths.
PYTHON = r"""
import contextlib, io, sys, traceback
names = {"__name__": "__main__"}
source, sink = sys.stdin.buffer, sys.stdout.buffer
while (head := source.readline()):
    code, out, ok = source.read(int(head)).decode(), io.StringIO(), 1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            exec(compile(code, "page", "exec"), names)
        except BaseException:
            ok = 0
            traceback.print_exc()
    text = out.getvalue().encode()
    sink.write(b"%d %d\n" % (ok, len(text)) + text)
    sink.flush()
"""


class Python:
    """An interpreter that lives as long as a page."""

    def __init__(self, folder, environment, interpreter, seconds):
        self.seconds = seconds
        self.process = subprocess.Popen([interpreter, "-c", PYTHON], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run(self, code):
        timer = threading.Timer(self.seconds, self.process.kill)
        timer.start()
        try:
            code = code.encode()
            self.process.stdin.write(b"%d\n" % len(code) + code)
            self.process.stdin.flush()
            head = self.process.stdout.readline().split()
            text = self.process.stdout.read(int(head[1])).decode(errors="replace") if head else ""
        except BrokenPipeError:
            head, text = [], ""
        finally:
            timer.cancel()
        return (0 if head[0] == b"1" else 1) if head else None, text

    def close(self):
        close(self.process)
