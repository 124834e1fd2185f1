"use strict";
/* One command of nucleon with files and memory of its own, for the page's worker and for the suite. */

const FOLDER = "/files";

function writeFile(fs, path, bytes) {
    const full = FOLDER + "/" + path;
    fs.mkdirTree(full.slice(0, full.lastIndexOf("/")));
    fs.writeFile(full, bytes);
}

/* A file, or all files below a folder. */
function readFiles(fs, path, files) {
    const { exists } = fs.analyzePath(FOLDER + "/" + path);
    if (!exists) return files;
    if (!fs.isDir(fs.stat(FOLDER + "/" + path).mode)) return [...files, { path, bytes: fs.readFile(FOLDER + "/" + path) }];
    return fs.readdir(FOLDER + "/" + path).filter((name) => name !== "." && name !== "..").sort()
        .reduce((all, name) => readFiles(fs, path + "/" + name, all), files);
}

/* Standard error as a terminal has it: whole lines are messages, what ends with a carriage return is a line of progress. */
function terminal(onLine, onProgress) {
    let bytes = [];
    const take = () => {
        const text = new TextDecoder().decode(new Uint8Array(bytes));
        bytes = [];
        return text.replace(/\x1b\[K/g, "");
    };
    return (byte) => {
        if (byte === 10) onLine(take());
        else if (byte === 13) onProgress(take());
        else bytes.push(byte);
    };
}

/* files: [{ path, bytes }]; results: paths that the command writes, which come back the same way. */
async function runCommand(createNucleon, module, { args, files, results }, onProgress) {
    const output = [], messages = [];
    const nucleon = await new Promise((resolve, reject) => createNucleon({
        thisProgram: "nucleon",
        print: (line) => output.push(line),
        onError: terminal((line) => messages.push(line), onProgress),
        quit: (code, exit) => { throw exit; },
        instantiateWasm(imports, done) {
            WebAssembly.instantiate(module, imports).then(done, reject);
            return {};
        },
    }).then(resolve, reject));
    nucleon.FS.mkdir(FOLDER);
    nucleon.FS.chdir(FOLDER);
    for (const { path, bytes } of files) writeFile(nucleon.FS, path, bytes);
    let code = 1;
    try {
        code = nucleon.callMain(args);
    } catch (problem) {
        messages.push("nucleon: " + args[0] + ": stopped by the browser: " + problem.message
            + ": take fewer or smaller samples, or the command line, which has all of the machine's memory");
    }
    return { code, output: output.join("\n"), messages, files: results.reduce((all, path) => readFiles(nucleon.FS, path, all), []) };
}
