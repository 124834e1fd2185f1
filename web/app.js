/* The page: what was given on the left, the report on the right. A change of anything starts the commands anew. */

const CHOICES = [["--cpu", "CPU kernels"], ["--io", "I/O type"], ["--activations", "Activations"], ["--accuracy", "Accuracy effort"]];
const given = { model: null, calibration: null, dataset: null, beside: null };
const running = { commands: [], timer: 0 };
const made = { program: null, report: null };
const at = {};

/* ---- what is given ---- */

function give(files, slot) {
    const model = files.find(({ path }) => MODEL.test(path));
    const beside = files.filter(({ path }) => BESIDE.test(path) && !path.includes("/"));
    const samples = files.filter((one) => !MODEL.test(one.path) && !beside.includes(one));
    if (model) given.model = asArgument([{ path: model.path.replace(/^.*\//, ""), file: model.file }]);
    else if (slot === "model" && samples.length) return show({ error: "nucleon: " + samples[0].path + ": this is not a model: choose a .pt2 or .tflite file" });
    if (beside.length) given.beside = asArgument([...(given.beside ? given.beside.files : []), ...beside], ".");
    if (samples.length) given[slot === "dataset" ? "dataset" : "calibration"] = asArgument(samples, slot === "dataset" ? "test" : "samples");
    changed();
}

function take(slot) {
    given[slot] = null;
    changed();
}

function changed() {
    for (const slot of ["model", "calibration", "dataset"]) fillSlot(slot);
    at.beside.replaceChildren(...(given.beside ? given.beside.files.map(({ path }) => path).join(", ") : "").split("\n").filter(Boolean).map((text) => "Files for options: " + text));
    run();
}

async function giveExample() {
    const files = ["motion.pt2", "samples.npz"].map((name) => ({ path: name, file: new File([packed(name)], name) }));
    given.dataset = null;
    give(files, "model");
}

/* ---- fields ---- */

function dropTarget(node, slot) {
    const mark = (on) => (event) => {
        event.preventDefault();
        event.stopPropagation();
        node.classList.toggle("over", on);
    };
    setAttributes(node, {
        dragenter: mark(true), dragover: mark(true), dragleave: mark(false),
        drop: async (event) => {
            mark(false)(event);
            give(await droppedFiles(event.dataTransfer), slot);
        },
    });
    return node;
}

/* A button that opens the chooser of files, or of folders. */
function chooser(id, title, slot, attributes, look = "link") {
    const input = element("input", { type: "file", id, class: "hidden", tabindex: -1, "aria-hidden": "true", ...attributes,
        change: () => {
            give(chosenFiles(input.files), slot);
            input.value = "";
        } });
    return [element("button", { type: "button", class: look, click: () => input.click() }, title), input];
}

function slotField(slot, title, hint, folders) {
    at[slot] = element("div", { class: "slot-content" });
    at[slot + "-hint"] = element("div", { class: "slot-content" }, element("span", { class: "quiet" }, hint), element("span", { class: "choosers" },
        chooser(slot + "-file", folders ? "Files" : "Choose a file", slot, { multiple: true }), folders ? chooser(slot + "-folder", "Folder", slot, { webkitdirectory: true }) : null));
    return dropTarget(element("div", { class: "slot" }, element("h3", {}, title), at[slot], at[slot + "-hint"]), slot);
}

function fillSlot(slot) {
    const one = given[slot];
    at[slot + "-hint"].hidden = Boolean(one);
    at[slot].parentNode.classList.toggle("filled", Boolean(one));
    at[slot].replaceChildren(...(one ? [element("span", { class: "name" }, one.argument), element("span", { class: "quiet" },
        (one.files.length > 1 ? one.files.length + " files, " : "") + sizeText(one.bytes)),
        element("button", { type: "button", class: "link remove", title: "Remove", "aria-label": "Remove " + one.argument, click: () => take(slot) }, "\u00d7")] : []));
}

function field(title, control, hint) {
    return element("label", { class: "field" }, element("span", {}, title), control, hint || null);
}

function targetField(targets) {
    const hint = element("small", {}), select = element("select", { id: "target", change: () => {
        describe();
        run();
    } }, targets.map(({ name }) => element("option", { value: name }, name)));
    const describe = () => { hint.textContent = targets.find(({ name }) => name === select.value).description; };
    describe();
    return field("Target", select, hint);
}

function choiceField(help, name, title) {
    const { choices, text } = optionHelp(help, name);
    return field(title, element("select", { class: "option", "data-option": name, title: name + ": " + text, change: run },
        element("option", { value: "" }, "default"), choices.map((value) => element("option", { value }, value))));
}

function optionFields(help) {
    const budget = optionHelp(help, "--memory-budget");
    return element("details", { class: "options" }, element("summary", {}, "Options"),
        element("div", { class: "pairs" }, CHOICES.map(([name, title]) => choiceField(help, name, title))),
        field("Memory budget", element("input", { class: "option", "data-option": "--memory-budget", placeholder: "64Ki", title: budget.text, spellcheck: "false", change: run })),
        field("Other options", element("input", { id: "words", placeholder: "--weights per-tensor", spellcheck: "false", autocapitalize: "off", change: run }),
            element("small", {}, "Options of \u201cnucleon compile\u201d. Drop the .json or .txt files that they name anywhere on this page.")),
        at.beside = element("small", {}),
        element("details", {}, element("summary", {}, "All options"), element("pre", { class: "help", tabindex: 0 }, help)));
}

/* ---- commands ---- */

function optionWords() {
    const words = document.getElementById("target").selectedIndex ? ["--target", document.getElementById("target").value] : [];
    for (const one of document.querySelectorAll(".option")) {
        if (one.value.trim()) words.push(one.dataset.option, one.value.trim());
    }
    return [...words, ...wordsOf(document.getElementById("words").value)];
}

function stop() {
    running.commands.forEach((command) => command.stop());
    running.commands = [];
    clearInterval(running.timer);
    at.progress.hidden = true;
}

/* The commands for what is given, with the files that they read. */
function commandsFor() {
    const { model, calibration } = given, stem = model.argument.replace(/\.[^.]*$/, "");
    const dataset = given.dataset && besides([model, calibration], given.dataset, "test");
    const name = (one) => (one.argument.startsWith("-") ? "./" + one.argument : one.argument);
    const common = [name(model), ...(calibration ? ["--calibration", name(calibration)] : []), ...optionWords()];
    return {
        stem, files: [model, calibration, dataset, given.beside].filter(Boolean).flatMap((one) => one.files),
        compile: ["compile", ...common, "-o", stem + ".pte"],
        report: ["report", ...common, ...(dataset ? ["--dataset", name(dataset)] : []), "-o", stem + ".html"],
    };
}

async function run() {
    stop();
    made.program = made.report = null;
    show({});
    if (!given.model || !engine.module) return;
    const { stem, files, compile, report } = commandsFor(), began = performance.now();
    const start = (args, path) => {
        const command = startCommand(args, files, [path], (text) => progress(args[0], text));
        running.commands.push(command);
        return command.done;
    };
    running.timer = setInterval(() => { at.elapsed.textContent = Math.floor((performance.now() - began) / 1000) + " s"; }, 250);
    at.elapsed.textContent = "";
    progress("", "");
    at.progress.hidden = false;
    at.command.replaceChildren(...["nucleon", ...compile.map(quoted)].flatMap((word) => [element("span", {}, word), " "]));
    document.body.dataset.state = "running";
    document.title = given.model.argument + " \u2013 nucleon";
    at.waiting.textContent = "The report appears here.";
    const program = start(compile, stem + ".pte").then((done) => {
        made.program = done.files[0] || null;
        show({ compiled: done });
        return done;
    });
    const both = await Promise.all([program, start(report, stem + ".html")]);
    stop();
    made.report = both[1].files[0] || null;
    show({ compiled: both[0], reported: both[1] });
    document.body.dataset.seconds = ((performance.now() - began) / 1000).toFixed(2);
    document.body.dataset.state = "done";
}

/* "calibrate  [####....] 120/360  33 %  85/s  3 s left" */
function progress(command, line) {
    const percent = /(\d+) %/.exec(line);
    if (line || !command) at.step.textContent = line ? line.replace(/\[.*?\] +\d+\/\d+ +/, " ").split(/ {2,}/).join(" \u00b7 ") : "Compiling";
    if (percent) at.bar.value = Number(percent[1]) / 100;
    else at.bar.removeAttribute("value");
}

/* C of the program in a zip archive. */
async function downloadC(project) {
    const stem = made.program.path.replace(/\.pte$/, ""), folder = project ? stem + "-firmware" : stem + "-c";
    const target = document.getElementById("target");
    const args = ["codegen", made.program.path, project ? "--project" : "-o", folder, ...(project ? ["--target", target.value] : [])];
    const done = await startCommand(args, [{ path: made.program.path, file: new Blob([made.program.bytes]) }], [folder]).done;
    if (done.code !== 0) return show({ compiled: done });
    download(zipArchive(done.files), folder + ".zip");
}

function download(blob, name) {
    const url = URL.createObjectURL(blob);
    element("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/* ---- what is shown ---- */

/* Errors once: what both commands say is the same. Notes stand in the report, where there is one. */
function show({ compiled, reported, error }) {
    const lines = [...(compiled ? compiled.messages : []), ...(reported ? reported.messages : []), ...(error ? [error] : [])];
    const shown = [...new Set(lines)].filter((line) => !made.report || !/^nucleon: note:/.test(line));
    at.messages.replaceChildren(...shown.map((line) => element("p", { class: /^nucleon: note:/.test(line) ? "message note" : "message" },
        line.replace(/^nucleon: (note: )?/, ""))));
    at.messages.hidden = !shown.length;
    for (const button of at.downloads.querySelectorAll("button")) button.disabled = !(button.dataset.of === "report" ? made.report : made.program);
    at.size.textContent = made.program ? sizeText(made.program.bytes.length) : "";
    if (!given.model) at.command.textContent = "";
    at.result.hidden = !given.model;
    at.welcome.hidden = Boolean(given.model);
    if (made.report) showReport(new TextDecoder().decode(made.report.bytes));
    else if (reported || !given.model) at.report.hidden = true;
    at.waiting.hidden = !given.model || !at.report.hidden || Boolean(reported);
}

/* The report as it is, without the line that says so and switches colours: this page has one. */
function showReport(html) {
    const extra = "<style>.product { display: none !important; }</style><script>addEventListener('message', ({ data }) => {"
        + " if (data) document.documentElement.dataset.theme = data; else delete document.documentElement.dataset.theme; });"
        + "addEventListener('dragenter', () => parent.postMessage('drag', '*'));</" + "script>";
    URL.revokeObjectURL(at.report.src);
    at.report.src = URL.createObjectURL(new Blob([html.replace("</head>", () => extra + "</head>")], { type: "text/html" }));
    at.report.hidden = false;
}

/* Files that are dragged over the report are for the page. */
function catchDrags() {
    const dragging = (on) => () => document.body.classList.toggle("dragging", on);
    addEventListener("message", ({ source, data }) => {
        if (source === at.report.contentWindow && data === "drag") dragging(true)();
    });
    addEventListener("drop", dragging(false), true);
    addEventListener("dragleave", (event) => event.relatedTarget || dragging(false)(), true);
    dropTarget(document.body, "any");
}

function tellTheme() {
    if (at.report.contentWindow) at.report.contentWindow.postMessage(document.documentElement.dataset.theme || "", "*");
}

function downloads() {
    const button = (of, title, act, more) => element("button", { type: "button", class: "button", "data-of": of, id: "get-" + title.split(" ")[0].toLowerCase(), click: act }, title, more || null);
    at.size = element("span", { class: "quiet" });
    at.downloads = element("div", { class: "downloads" },
        button("program", "Program (.pte)", () => download(new Blob([made.program.bytes]), made.program.path), at.size),
        button("program", "C sources (.zip)", () => downloadC(false)),
        button("program", "Firmware project (.zip)", () => downloadC(true)),
        button("report", "Report (.html)", () => download(new Blob([made.report.bytes], { type: "text/html" }), made.report.path)));
    at.command = element("code", { tabindex: 0 });
    return at.result = element("section", { class: "result", hidden: true, "aria-label": "Results" }, element("h3", {}, "Download"), at.downloads,
        element("h3", {}, "The same on a command line"), at.command);
}

function welcome() {
    return dropTarget(element("div", { class: "welcome" },
        element("h1", {}, "Drop a model here"),
        element("p", { class: "lead" }, "A torch.export archive (.pt2) or a LiteRT model (.tflite). You see where each operator runs, "
            + "latency, memory and accuracy, and download the program for the microcontroller."),
        element("p", { class: "actions" }, chooser("any-file", "Choose files", "model", { multiple: true }, "button primary"),
            element("button", { type: "button", class: "button", id: "example", click: giveExample }, "Try an example")),
        element("ul", { class: "promises" },
            element("li", {}, element("strong", {}, "Your files stay in this tab."), " The page cannot load or send anything: its content security policy tells the browser to refuse."),
            element("li", {}, element("strong", {}, "It works offline."), " The compiler and the NPU simulator are in this file. You can save it."),
            element("li", {}, element("strong", {}, "Samples give real figures."), " A float model is quantized with calibration samples. Without them its ranges are made up."))), "model");
}

function layOut(help, targets, version) {
    at.messages = element("div", { class: "messages", role: "alert", hidden: true });
    at.step = element("span", {});
    at.elapsed = element("span", { class: "quiet" });
    at.bar = element("progress", { "aria-label": "Progress" });
    at.progress = element("div", { class: "progress", role: "status", hidden: true }, at.step, at.bar, at.elapsed,
        element("button", { type: "button", class: "button", click: () => {
            stop();
            document.body.dataset.state = "stopped";
            at.report.hidden = true;
            show({});
            at.waiting.replaceChildren("Stopped. ", element("button", { type: "button", class: "link", click: run }, "Compile again"));
        } }, "Stop"));
    at.welcome = welcome();
    at.waiting = element("p", { class: "waiting", hidden: true });
    at.report = element("iframe", { title: "Report", sandbox: "allow-scripts allow-downloads", hidden: true, load: tellTheme });
    const head = element("header", { class: "top" }, element("p", { class: "product" }, element("strong", {}, "nucleon"),
        element("span", { class: "tagline" }, version + " \u00b7 compiles models for NXP microcontrollers, in this tab"), themeSwitch()));
    document.body.append(head,
        element("aside", { class: "panel", "aria-label": "Model and options" },
            slotField("model", "Model", ".pt2 or .tflite"),
            slotField("calibration", "Calibration samples", ".npz, .npy, .wav, .csv, images", true),
            slotField("dataset", "Test samples with labels", "for accuracy", true),
            targetField(targets), optionFields(help), downloads()),
        element("main", { class: "stage" }, at.progress, at.messages, at.welcome, at.waiting, at.report));
    new MutationObserver(tellTheme).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    catchDrags();
}

async function start() {
    const starting = document.getElementById("starting");
    try {
        await loadEngine();
        const [help, targets] = await Promise.all([["help", "compile"], ["targets", "--json"]].map((args) => startCommand(args, [], []).done));
        const { targets: all, nucleon } = JSON.parse(targets.output);
        starting.remove();
        layOut(help.output, all, nucleon);
        document.body.dataset.state = "ready";
    } catch (problem) {
        starting.textContent = "nucleon does not start in this browser: " + problem.message
            + ". It needs WebAssembly with SIMD and DecompressionStream: take a browser of 2024 or later.";
    }
}

start();
