"use strict";
/* A user at the page: node web_page.js BROWSER nucleon.html FOLDER. The folder holds digits.pt2 and its samples, and what
 * the command line makes of them: digits.pte, m33.pte, digits.html, digits-c, digits-firmware. */
const fs = require("fs"), path = require("path"), { execFileSync } = require("child_process");
const { openPage } = require("./browser.js");

const [browser, html, folder] = process.argv.slice(2);
const downloads = path.join(folder, "downloads"), outside = [];
let failures = 0;

function check(name, holds) {
    if (holds) return;
    console.error("FAIL page: " + name);
    failures++;
}

async function downloaded(page, button, name) {
    const file = path.join(downloads, name);
    fs.rmSync(file, { force: true });
    await page.run("document.getElementById('" + button + "').click()");
    for (let i = 0; i < 300 && !fs.existsSync(file); i++) await new Promise((resolve) => setTimeout(resolve, 100));
    return fs.readFileSync(file);
}

const same = (bytes, name) => bytes.equals(fs.readFileSync(path.join(folder, name)));
const messages = "document.querySelector('.messages').innerText";

/* The files as a user drags them from a file manager. */
async function drop(page, ...names) {
    const data = { items: [], files: names.map((name) => path.join(folder, name)), dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"]) await page.call("Input.dispatchDragEvent", { type, x: 800, y: 400, data });
}

async function sameArchive(page, button, name) {
    await downloaded(page, button, name + ".zip");
    const unpacked = path.join(folder, "unpacked");
    execFileSync("unzip", ["-q", path.join(downloads, name + ".zip"), "-d", unpacked]);
    execFileSync("diff", ["-r", "-I", " call_memory\\[", "-I", "_BYTES [0-9]*", path.join(unpacked, name), path.join(folder, name)], { stdio: "inherit" });
}

async function use(page) {
    const done = () => page.until("document.body.dataset.state === 'done'");
    await page.until("document.body.dataset.state === 'ready'");
    check("the targets are listed", await page.run("document.getElementById('target').length") > 4);
    check("options have choices", await page.run("[...document.querySelectorAll('select.option')].every((one) => one.length > 2)"));
    await drop(page, "digits.pt2", "calibration.npz");
    await page.until("given.model && given.calibration");
    await page.choose("dataset-file", [path.join(folder, "test.npz")]);
    await done();
    check("no messages: " + await page.run(messages), await page.run(messages) === "");
    check("the program's bytes", same(await downloaded(page, "get-program", "digits.pte"), "digits.pte"));
    check("the report's bytes", same(await downloaded(page, "get-report", "digits.html"), "digits.html"));
    await sameArchive(page, "get-c", "digits-c");
    await sameArchive(page, "get-firmware", "digits-firmware");
    const placement = /All\s28\soperators\srun\son\sthe\sNPU/;
    let shown = "";
    for (let i = 0; i < 100 && !placement.test(shown); i++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        shown = (await page.frames()).join();
    }
    check("a report is shown: " + shown, placement.test(shown));

    await page.run("target.value = 'cortex-m33', target.dispatchEvent(new Event('change'))");
    await done();
    check("another target's bytes", same(await downloaded(page, "get-program", "digits.pte"), "m33.pte"));
    await page.run("words.value = '--weights nothing', words.dispatchEvent(new Event('change'))");
    await done();
    check("a wrong option: " + await page.run(messages), /--weights.*per-channel/.test(await page.run(messages)));
    check("nothing to download", await page.run("document.getElementById('get-program').disabled"));
    await page.run("words.value = ''");
    await drop(page, "images");
    await page.until("given.calibration.argument === 'images'");
    check("a folder's files", await page.run("given.calibration.files.map(({ path }) => path).sort().join()") === "images/a/0.png,images/a/1.png,images/b/0.png,images/b/1.png");
    await page.choose("model-file", [path.join(folder, "calibration.npz")]);
    check("no model: " + await page.run(messages), /choose a \.pt2 or \.tflite/.test(await page.run(messages)));
}

/* A page and a worker that try to send something are kept from it by the policy. */
async function tryToSend(page) {
    const attempt = "new Promise((resolve) => { addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective));"
        + " fetch('http://127.0.0.1:9/').catch(() => setTimeout(resolve, 1000, 'not refused')); })";
    check("the page may send", await page.run(attempt) === "connect-src");
    check("a worker may send", await page.run("new Promise((resolve) => { new Worker(URL.createObjectURL(new Blob([" + JSON.stringify(attempt + ".then(postMessage)")
        + "]))).onmessage = ({ data }) => resolve(data); })") === "connect-src");
}

async function main() {
    fs.mkdirSync(downloads);
    const page = await openPage(browser, "file://" + path.resolve(html), { folder: path.join(folder, "profile"), downloads });
    page.onRequest((url) => /^(file|blob|data|about):/.test(url) || outside.push(url));
    try {
        await use(page);
    } catch (problem) {
        check(problem.message, false);
    }
    const said = page.console.join("; ");
    await tryToSend(page).catch((problem) => check(problem.message, false));
    check("the console: " + said, said === "");
    check("it asks for " + outside.join(", "), outside.every((url) => url === "http://127.0.0.1:9/"));
    page.close();
    process.exitCode = failures ? 1 : 0;
}

process.exitCode = 1; /* until all has been tried: node ends when nothing is left to wait for */
main().catch((problem) => {
    console.error("FAIL page: " + problem.message);
    process.exit(1);
});
