"use strict";
/* Headless Chromium by its debugging pipe: nothing but node is needed. */
const { spawn } = require("child_process");

const LIMIT = 90; /* seconds for what a browser does at once, on a machine that does much else */

/* What a promise gives, or an error that names what does not come. */
function limited(promise, what) {
    let timer;
    const late = new Promise((resolve, reject) => {
        timer = setTimeout(() => reject(new Error("not within " + LIMIT + " s: " + what)), 1000 * LIMIT);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/* The messages of the pipe: call(METHOD, PARAMETERS, SESSION) of the DevTools protocol, and listen(CALLBACK) for events. */
function connect(browser) {
    const answers = new Map(), listeners = [];
    let next = 0, rest = "";
    browser.stdio[4].on("data", (data) => {
        const texts = (rest + data).split("\0");
        rest = texts.pop();
        for (const message of texts.map((text) => JSON.parse(text))) {
            const answer = answers.get(message.id);
            answers.delete(message.id);
            if (!answer) listeners.forEach((listener) => listener(message));
            else if (message.error) answer.reject(new Error(message.error.message));
            else answer.resolve(message.result);
        }
    });
    browser.on("exit", () => answers.forEach(({ reject }) => reject(new Error("the browser ended"))));
    const call = (method, params = {}, sessionId = undefined) => limited(new Promise((resolve, reject) => {
        answers.set(++next, { resolve, reject });
        browser.stdio[3].write(JSON.stringify({ id: next, method, params, sessionId }) + "\0");
    }), "an answer to " + method + " " + JSON.stringify(params).slice(0, 120));
    return { call, listen: (listener) => listeners.push(listener) };
}

/* What a session says of itself: on its console, and which addresses it asks for. */
function observe({ listen }, console, requests) {
    listen(({ method, params }) => {
        if (method === "Runtime.consoleAPICalled") console.push(params.args.map(({ value, description }) => value || description).join(" "));
        if (method === "Runtime.exceptionThrown") console.push(JSON.stringify(params.exceptionDetails));
        if (method === "Log.entryAdded") console.push(params.entry.text);
        if (method === "Network.requestWillBeSent") requests.forEach((tell) => tell(params.request.url));
    });
}

/* A page that is open: call() of the protocol, run(EXPRESSION), until(EXPRESSION), choose(ID of an input, FILES), texts of
 * its frames, what came on its console. */
async function openPage(program, url, { folder, downloads, width = 1280, height = 860 }) {
    const browser = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
        "--user-data-dir=" + folder, "--window-size=" + width + "," + height, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const pipe = connect(browser), console = [], requests = [];
    observe(pipe, console, requests);
    const prepare = async (session) => {
        for (const domain of ["Runtime", "Log", "Network", "Page"]) await pipe.call(domain + ".enable", {}, session).catch(() => {});
    };
    const { targetInfos } = await pipe.call("Target.getTargets");
    const { targetId } = targetInfos.find(({ type }) => type === "page");
    const { sessionId } = await pipe.call("Target.attachToTarget", { targetId, flatten: true });
    const call = (method, params) => pipe.call(method, params, sessionId);
    if (downloads) await pipe.call("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
    await prepare(sessionId);
    const loaded = new Promise((resolve) => pipe.listen(({ method }) => method === "Page.loadEventFired" && resolve()));
    await call("Page.navigate", { url });
    await limited(loaded, "the page is loaded");
    const run = async (expression, session = sessionId) => {
        const { result, exceptionDetails } = await pipe.call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, session);
        if (exceptionDetails) throw new Error(expression + ": " + JSON.stringify(exceptionDetails));
        return result.value;
    };
    const until = async (expression, seconds = LIMIT) => {
        for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
            if (await run(expression)) return;
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
        throw new Error("not within " + seconds + " s: " + expression + "; the page says: " + await run("document.body.innerText"));
    };
    const choose = async (id, files) => {
        const { root } = await call("DOM.getDocument");
        const { nodeId } = await call("DOM.querySelector", { nodeId: root.nodeId, selector: "#" + id });
        await call("DOM.setFileInputFiles", { nodeId, files });
    };
    const frames = async () => {
        const inner = (await pipe.call("Target.getTargets")).targetInfos.filter(({ type }) => type === "iframe");
        const sessions = await Promise.all(inner.map((one) => pipe.call("Target.attachToTarget", { targetId: one.targetId, flatten: true })));
        return Promise.all(sessions.map((one) => run("document.body.innerText", one.sessionId)));
    };
    return { call, run, until, choose, console, frames,
        onRequest: (tell) => requests.push(tell), close: () => browser.kill() };
}

module.exports = { openPage };
