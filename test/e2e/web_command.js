"use strict";
/* The command line as WebAssembly under node, by what the page's worker runs: node web_command.js BUILD_WEB ARGUMENT...
 * Arguments that are files are read from the current folder; what -o names is written there. */
const fs = require("fs"), path = require("path"), vm = require("vm");

const [build, ...args] = process.argv.slice(2);
vm.runInThisContext(fs.readFileSync(path.join(__dirname, "../../web/command.js"), "utf8"));
const createNucleon = require(path.resolve(build, "nucleon.js"));

function filesBelow(name) {
    if (!fs.statSync(name).isDirectory()) return [{ path: name, bytes: fs.readFileSync(name) }];
    return fs.readdirSync(name).flatMap((inner) => filesBelow(path.join(name, inner)));
}

async function main() {
    const module = await WebAssembly.compile(fs.readFileSync(path.join(build, "nucleon.wasm")));
    const files = args.filter((arg) => fs.existsSync(arg)).flatMap(filesBelow);
    const results = ["-o", "--project"].filter((name) => args.includes(name)).map((name) => args[args.indexOf(name) + 1]);
    const done = await runCommand(createNucleon, module, { args, files, results }, () => {});
    for (const file of done.files) {
        fs.mkdirSync(path.dirname(file.path), { recursive: true });
        fs.writeFileSync(file.path, file.bytes);
    }
    if (done.output) console.log(done.output);
    for (const line of done.messages) console.error(line);
    process.exitCode = done.code;
}

main();
