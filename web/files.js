/* Files as the page takes them: { path, file }, where `path` begins with the folder that was dropped, if one was. */

const MODEL = /\.(pt2|tflite)$/i, BESIDE = /\.(json|txt)$/i;

/* Two interfaces for what is dropped: handles, where a browser has them, since pages that were opened as files may not read
 * entries; else entries. */
async function walkHandle(handle, folder) {
    if (handle.name.startsWith(".")) return [];
    if (handle.kind === "file") return [{ path: folder + handle.name, file: await handle.getFile() }];
    const all = [];
    for await (const inner of handle.values()) all.push(...await walkHandle(inner, folder + handle.name + "/"));
    return all;
}

async function walkEntry(entry, folder) {
    if (entry.name.startsWith(".")) return [];
    if (entry.isFile) return [{ path: folder + entry.name, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) }];
    const reader = entry.createReader(), all = [];
    for (let some; (some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length;) { // a hundred at a time
        for (const inner of some) all.push(...await walkEntry(inner, folder + entry.name + "/"));
    }
    return all;
}

function chosenFiles(list) {
    return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file })).filter(({ path }) => !/(^|\/)\./.test(path));
}

async function droppedFiles(transfer) {
    const items = [...transfer.items].filter(({ kind }) => kind === "file"), plain = chosenFiles(transfer.files);
    const entries = items.map((item) => item.webkitGetAsEntry());
    if (!entries.some((entry) => entry && entry.isDirectory)) return plain; // handles may need the user's consent, files do not
    const handles = "getAsFileSystemHandle" in DataTransferItem.prototype;
    const read = items.map((item, i) => (handles ? item.getAsFileSystemHandle().then((one) => walkHandle(one, "")) : walkEntry(entries[i], "")));
    return Promise.all(read).then((all) => all.flat(), () => plain);
}

/* One argument of a command: a file, a folder, or a folder for files that were chosen together. */
function asArgument(files, folder) {
    const tops = new Set(files.map(({ path }) => path.split("/")[0])), [top] = tops;
    const loose = tops.size > 1;
    return {
        argument: loose ? folder : top,
        files: files.map(({ path, file }) => ({ path: loose ? folder + "/" + path : path, file })),
        bytes: files.reduce((sum, { file }) => sum + file.size, 0),
    };
}

/* The same below another folder, where `taken` has a file of its name. */
function besides(taken, one, folder) {
    if (!taken.some((other) => other && other.argument === one.argument)) return one;
    return { ...one, argument: folder + "/" + one.argument, files: one.files.map(({ path, file }) => ({ path: folder + "/" + path, file })) };
}

function sizeText(bytes) {
    if (bytes < 1000) return bytes + " bytes";
    return bytes < 999500 ? Math.round(bytes / 1000) + " KB" : (bytes / 1e6).toFixed(1) + " MB";
}
