/* Commands of nucleon, each in a worker of its own. */

const engine = { module: null, worker: null };

function packed(id) {
    return Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (character) => character.charCodeAt(0));
}

async function loadEngine() {
    const plain = new Blob([packed("wasm")]).stream().pipeThrough(new DecompressionStream("gzip"));
    engine.worker = URL.createObjectURL(new Blob([document.getElementById("worker").textContent], { type: "text/javascript" }));
    engine.module = await WebAssembly.compile(await new Response(plain).arrayBuffer());
}

/* files: [{ path, file }]; results: paths of files and folders to give back. A command that is stopped has no result. */
function startCommand(args, files, results, onProgress = () => {}) {
    const worker = new Worker(engine.worker);
    const stop = () => worker.terminate();
    const done = new Promise((resolve) => {
        worker.onmessage = ({ data }) => {
            if (data.done === undefined) return onProgress(data.progress);
            stop();
            resolve(data.done);
        };
        worker.onerror = (event) => {
            stop();
            resolve({ code: 1, output: "", files: [], messages: ["nucleon: " + (event.message || "the worker stopped") + ": reload the page"] });
        };
    });
    worker.postMessage({ module: engine.module, args, files, results });
    return { done, stop };
}

/* A word as a shell takes it. */
function quoted(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
}

/* Words between blanks; quotes keep blanks. */
function wordsOf(text) {
    return [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

/* What the help says of an option: its choices, and its words. */
function optionHelp(help, name) {
    const found = new RegExp("^ +" + name + " ([\\w|]+)((?:.*\\n)(?: {20,}.*\\n)*)", "m").exec(help + "\n");
    return found ? { choices: found[1].split("|"), text: found[2].replace(/\s+/g, " ").trim() } : { choices: [], text: "" };
}
