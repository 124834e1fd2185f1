/* A worker runs one command, so that the page stays awake and can stop it. */
onmessage = async ({ data }) => {
    try {
        const files = await Promise.all(data.files.map(async ({ path, file }) => ({ path, bytes: new Uint8Array(await file.arrayBuffer()) })));
        const done = await runCommand(createNucleon, data.module, { ...data, files }, (text) => postMessage({ progress: text }));
        postMessage({ done }, done.files.map(({ bytes }) => bytes.buffer));
    } catch (problem) {
        postMessage({ done: { code: 1, output: "", messages: ["nucleon: " + problem.message + ": reload the page"], files: [] } });
    }
};
