"use strict";
/* Mouse, fingers and keys on the graph. */

/* actions: select(key), toggle(key), open the details, leave, search. */
function attachPointer(view, actions) {
    const pointers = new Map(), surface = view.surface;
    let pressed = null, spread = 0;

    const at = (event) => {
        const box = surface.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const twoFingers = () => {
        const [a, b] = [...pointers.values()];
        return { distance: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };

    surface.addEventListener("pointerdown", (event) => {
        if (event.button > 0) return;
        view.gliding = null;
        pointers.set(event.pointerId, at(event));
        pressed = pointers.size === 1 ? { ...at(event), target: event.target, moved: false } : null;
        if (pointers.size === 2) spread = twoFingers().distance;
    });
    surface.addEventListener("pointermove", (event) => {
        if (!pointers.has(event.pointerId)) return;
        const before = pointers.get(event.pointerId), now = at(event);
        if (pressed && !pressed.moved && Math.hypot(now.x - pressed.x, now.y - pressed.y) < 5) return;
        if (pressed && !pressed.moved) {
            pressed.moved = true;
            surface.setPointerCapture(event.pointerId);
            surface.classList.add("panning");
        }
        pointers.set(event.pointerId, now);
        if (pointers.size === 1) {
            view.x += now.x - before.x;
            view.y += now.y - before.y;
            view.draw();
        } else if (pointers.size === 2) {
            const fingers = twoFingers();
            setScale(view, (view.scale * fingers.distance) / (spread || fingers.distance), fingers.x, fingers.y);
            spread = fingers.distance;
        }
    });
    const release = (event) => {
        if (!pointers.delete(event.pointerId)) return;
        surface.classList.remove("panning");
        if (event.type === "pointerup" && pressed && !pressed.moved) click(view, pressed.target, actions);
        pressed = null;
    };
    surface.addEventListener("pointerup", release);
    surface.addEventListener("pointercancel", release);
    surface.addEventListener("dblclick", (event) => {
        const item = itemAt(view, event.target);
        if (item && item.group && !event.target.closest("[data-toggle]")) actions.toggle(item.key);
    });
    /* A wheel scrolls the page until the graph is what one works with, or the zoom key is held. */
    surface.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== surface) return;
        event.preventDefault();
        const point = at(event), pixels = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
        setScale(view, view.scale * Math.exp(-Math.max(-240, Math.min(240, pixels)) * (event.ctrlKey ? 0.008 : 0.0022)), point.x, point.y);
    }, { passive: false });
}

function itemAt(view, target) {
    const drawn = target.closest("[data-key]");
    return drawn ? view.byKey.get(drawn.dataset.key) : null;
}

function click(view, target, actions) {
    const item = itemAt(view, target);
    view.surface.focus({ preventScroll: true });
    if (!item) actions.select(null);
    else if (target.closest("[data-toggle]")) actions.toggle(item.key);
    else actions.select(item.key);
}

function attachKeys(view, actions) {
    const zoom = (factor) => {
        const size = view.size();
        setScale(view, view.scale * factor, size.width / 2, size.height / 2);
    };
    const keys = {
        ArrowDown: () => follow(view, actions, 1), ArrowUp: () => follow(view, actions, -1),
        ArrowLeft: () => beside(view, actions, -1), ArrowRight: () => beside(view, actions, 1),
        Home: () => edge(view, actions, 0), End: () => edge(view, actions, -1),
        Enter: () => enterItem(view, actions), " ": () => enterItem(view, actions),
        Backspace: () => closeAround(view, actions), Escape: () => actions.escape(),
        "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), _: () => zoom(0.8),
        0: () => fit(view, true), f: () => fit(view, true), "/": () => actions.search(),
    };
    view.surface.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.shiftKey && event.key.startsWith("Arrow")) {
            event.preventDefault();
            view.x -= { ArrowLeft: -60, ArrowRight: 60 }[event.key] || 0;
            view.y -= { ArrowUp: -60, ArrowDown: 60 }[event.key] || 0;
            view.draw();
            return;
        }
        const act = keys[event.key];
        if (!act) return;
        event.preventDefault();
        act();
    });
}

/* What arrow keys stop at, in reading order. */
function stops(view) {
    return view.layout.items.filter((item) => !item.open || item.key === view.selected);
}

function edge(view, actions, index) {
    const item = stops(view).at(index);
    if (item) actions.select(item.key);
}

/* Along the data: of several readers, or several values read, the one that is closest across. */
function follow(view, actions, direction) {
    const here = view.byKey.get(view.selected);
    if (!here) return edge(view, actions, 0);
    const keys = [];
    for (const [, next] of view.layout.edges) {
        if (direction > 0 && next.from === here.key) keys.push(next.to);
        if (direction < 0 && next.to === here.key) keys.push(next.from);
    }
    if (here.open) keys.push(...here.group.items.map((item) => item.group ? item.group.key : "n:" + item.node.id).slice(direction > 0 ? 0 : -1));
    const middle = here.x + here.width / 2;
    const found = keys.map((key) => view.byKey.get(key)).filter(Boolean)
        .sort((a, b) => Math.abs(a.x + a.width / 2 - middle) - Math.abs(b.x + b.width / 2 - middle));
    if (found.length) actions.select(found[0].key);
}

/* To the nearest item at the left or right that overlaps in height, else the nearest one there at all. */
function beside(view, actions, direction) {
    const here = view.byKey.get(view.selected);
    if (!here) return edge(view, actions, 0);
    let best = null, least = Infinity;
    for (const item of stops(view)) {
        const dx = (item.x + item.width / 2 - here.x - here.width / 2) * direction;
        if (item === here || dx <= 1) continue;
        const dy = Math.abs(item.y + item.height / 2 - here.y - here.height / 2);
        const cost = dx + 3 * dy;
        if (cost < least) {
            least = cost;
            best = item;
        }
    }
    if (best) actions.select(best.key);
}

function enterItem(view, actions) {
    const item = view.byKey.get(view.selected);
    if (!item) edge(view, actions, 0);
    else if (item.group) actions.toggle(item.key);
    else actions.details();
}

function closeAround(view, actions) {
    const item = view.byKey.get(view.selected);
    const around = item && (item.group ? (item.open ? item.group : item.group.parent) : item.node.group);
    if (around && around.parent && view.open.has(around.key)) actions.toggle(around.key);
}
