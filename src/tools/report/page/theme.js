"use strict";
/* Light, dark, or as the system has it. Where a browser keeps nothing for files, the choice holds until the page closes. */
function themeSwitch() {
    const stored = () => {
        try {
            return localStorage.getItem("nucleon-theme");
        } catch (refused) {
            return null;
        }
    };
    const apply = (theme) => {
        if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
        else delete document.documentElement.dataset.theme;
    };
    const now = stored() || "auto";
    apply(now);
    return choice("Colours", [{ value: "auto", title: "Auto" }, { value: "light", title: "Light" }, { value: "dark", title: "Dark" }], now, (theme) => {
        apply(theme);
        try {
            localStorage.setItem("nucleon-theme", theme);
        } catch (refused) { /* nothing to keep it in */ }
    });
}
