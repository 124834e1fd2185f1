"use strict";
/* The page in one file: node pack.js OUT.html NUCLEON.js NUCLEON.wasm SOURCE_DIR. */
const fs = require("fs"), path = require("path"), zlib = require("zlib");

const [out, engine, wasm, source] = process.argv.slice(2);
const web = path.join(source, "web"), report = path.join(source, "src/tools/report/page"), example = path.join(source, "examples/tutorial");
const texts = (...files) => files.map((file) => fs.readFileSync(file, "utf8")).join("\n");
const script = (attributes, text) => {
    if (/<\/script|<!--/i.test(text)) throw new Error("a script would end before its end");
    return "<script" + attributes + ">\n" + text + "\n</script>\n";
};
const bytes = (id, data) => script(' type="text/plain" id="' + id + '"', data.toString("base64"));

const parts = {
    CSS: "<style>\n" + texts(path.join(report, "page.css"), path.join(web, "page.css")) + "</style>\n",
    PARTS: script(' type="text/plain" id="worker"', texts(engine, path.join(web, "command.js"), path.join(web, "worker.js")))
        + bytes("wasm", zlib.gzipSync(fs.readFileSync(wasm), { level: 9 }))
        + ["motion.pt2", "samples.npz"].map((name) => bytes(name, fs.readFileSync(path.join(example, name)))).join(""),
    JS: script("", texts(path.join(report, "dom.js"), path.join(report, "theme.js"),
        ...["zip.js", "files.js", "commands.js", "app.js"].map((name) => path.join(web, name)))),
};
fs.writeFileSync(out, texts(path.join(web, "page.html")).replace(/^<!--([A-Z]+)-->\n/gm, (mark, name) => parts[name]));
