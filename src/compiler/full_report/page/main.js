"use strict";
(function () {
    const report = JSON.parse(document.getElementById("report").textContent);
    const text = document.createElement("pre");
    text.textContent = JSON.stringify(report.summary, null, 2);
    document.getElementById("main").append(text);
})();
