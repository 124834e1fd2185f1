/* A zip archive of files that are stored as they are; scripts are executable. The same files give the same bytes. */

function crc32(bytes) {
    let crc = ~0;
    for (const byte of bytes) {
        crc ^= byte;
        for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc >>> 0;
}

/* Little-endian fields [[size, value], ...]. */
function fields(list) {
    const view = new DataView(new ArrayBuffer(list.reduce((sum, [size]) => sum + size, 0)));
    let at = 0;
    for (const [size, value] of list) {
        if (size === 2) view.setUint16(at, value, true);
        else view.setUint32(at, value, true);
        at += size;
    }
    return new Uint8Array(view.buffer);
}

const FIRST_OF_JANUARY_1980 = 0x21;

/* files: [{ path, bytes }] */
function zipArchive(files) {
    const parts = [], directory = [];
    let offset = 0;
    const add = (list, bytes) => {
        list.push(bytes);
        return bytes.length;
    };
    for (const { path, bytes } of files) {
        const name = new TextEncoder().encode(path), mode = path.endsWith(".sh") ? 0o100755 : 0o100644;
        const common = [[2, 20], [2, 0x800], [2, 0], [2, 0], [2, FIRST_OF_JANUARY_1980], [4, crc32(bytes)], [4, bytes.length],
            [4, bytes.length], [2, name.length], [2, 0]];
        add(directory, fields([[4, 0x02014b50], [2, 3 << 8 | 20], ...common, [2, 0], [2, 0], [2, 0], [4, mode << 16 >>> 0], [4, offset]]));
        add(directory, name);
        offset += add(parts, fields([[4, 0x04034b50], ...common])) + add(parts, name) + add(parts, bytes);
    }
    const size = directory.reduce((sum, part) => sum + part.length, 0);
    const end = fields([[4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, offset], [2, 0]]);
    return new Blob([...parts, ...directory, end], { type: "application/zip" });
}
