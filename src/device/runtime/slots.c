/* Two slots: the newest program that can run, and writing another one to the slot that is not in use. */
#include "device/runtime/package_load.h"

#include <string.h>

#include "device/base/package.h"

static enum nuc_status refuse(struct nuc_detail *detail, enum nuc_status status, const char *message, size_t missing)
{
    (void)nuc_package_refuse(detail, status, message);
    detail->missing = missing;
    detail->argument = missing != 0 ? "slot" : NULL;
    return status;
}

/* ---- loading ---- */

/* A slot and what was found in it. */
struct found {
    struct nuc_package package;
    struct nuc_detail detail;
    enum nuc_status status;
};

static void open_slot(const struct nuc_slots *slots, size_t slot, struct found *out)
{
    out->status = nuc_package_open(slots->data[slot], slots->size, &out->package, &out->detail);
    if (memcmp(slots->data[slot], NUC_PACKAGE_MAGIC, 4) != 0) /* nothing is amiss with an empty slot */
        out->detail.message = NULL;
}

static void load_slot(struct nuc_program *p, const struct nuc_firmware *firmware, struct nuc_bank *rest,
                      struct found *from)
{
    if (from->status == NUC_OK)
        from->status = nuc_package_check_open(&from->package, firmware, &from->detail);
    if (from->status == NUC_OK)
        from->status = nuc_package_load(p, &from->package, firmware, rest, &from->detail);
}

enum nuc_status nuc_slots_load(struct nuc_program *p, const struct nuc_slots *slots,
                               const struct nuc_firmware *firmware, struct nuc_package *package, struct nuc_bank *rest,
                               struct nuc_detail *detail)
{
    struct found found[2];
    struct nuc_detail unused;

    detail = detail != NULL ? detail : &unused;
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    if (p == NULL || slots == NULL || firmware == NULL || package == NULL || slots->data[0] == NULL ||
        slots->data[1] == NULL || slots->size < NUC_PACKAGE_RECORDS)
        return NUC_BAD_USAGE;
    open_slot(slots, 0, &found[0]);
    open_slot(slots, 1, &found[1]);
    /* A version is believed where the checksum fits: a slot that was being written is not taken for the newer one. */
    size_t first =
        found[1].status == NUC_OK && (found[0].status != NUC_OK || found[1].package.version > found[0].package.version);
    load_slot(p, firmware, rest, &found[first]);
    size_t used = first, other = 1 - first;
    if (found[first].status != NUC_OK) {
        load_slot(p, firmware, rest, &found[1 - first]);
        used = found[1 - first].status == NUC_OK || found[first].detail.message == NULL ? 1 - first : first;
        other = 1 - used;
    }
    *package = found[used].package;
    if (found[used].status == NUC_OK && found[other].status == NUC_OK)
        return NUC_OK;
    *detail = found[found[used].status == NUC_OK ? other : used].detail;
    return found[used].status;
}

/* ---- writing ---- */

enum nuc_status nuc_update_begin(struct nuc_update *u, const struct nuc_slots *slots,
                                 const struct nuc_firmware *firmware, const struct nuc_package *current, void *buffer,
                                 size_t buffer_size)
{
    if (u == NULL || slots == NULL || !nuc_is_firmware(firmware) || buffer == NULL || slots->write_size == 0 ||
        slots->erase_size == 0 || slots->erase_size % slots->write_size != 0 || slots->size % slots->erase_size != 0 ||
        buffer_size < NUC_UPDATE_BUFFER || buffer_size < slots->write_size)
        return NUC_BAD_USAGE;
    *u = (struct nuc_update){.slots = slots, .firmware = firmware, .buffer = buffer, .in_use = current != NULL};
    u->buffer_size = buffer_size - buffer_size % slots->write_size;
    u->slot = current != NULL && current->bytes == slots->data[0];
    u->version = current != NULL ? current->version : 0;
    return u->buffer_size < NUC_UPDATE_BUFFER ? NUC_BAD_USAGE : NUC_OK;
}

/* What the first bytes say, before anything is erased for them. */
static enum nuc_status check_start(const struct nuc_update *u, struct nuc_detail *detail)
{
    const struct nuc_span bytes = {u->buffer, u->filled};
    struct nuc_package package;
    enum nuc_status status = nuc_package_start(bytes, &package, detail);

    if (status != NUC_OK)
        return status;
    if (package.size > u->slots->size)
        return refuse(detail, NUC_NO_MEMORY, NUC_TEXT("the package is larger than a slot"),
                      package.size - u->slots->size);
    if (u->in_use && package.version <= u->version)
        return refuse(detail, NUC_PROPERTY, NUC_TEXT("the program is not newer than the one in use"), 0);
    if ((size_t)(package.program - package.bytes) > bytes.size)
        return NUC_OK;
    status = nuc_package_header(bytes, &package, detail);
    if (status == NUC_OK)
        status = nuc_package_suits(&package, u->firmware, detail);
    return status == NUC_OK ? nuc_package_fits(&package, u->firmware, detail) : status;
}

/* Writes the buffer, whole writes of which are filled. Blocks are erased as they are reached. */
static enum nuc_status flush(struct nuc_update *u, struct nuc_detail *detail)
{
    const struct nuc_slots *slots = u->slots;
    enum nuc_status status = u->written == 0 ? check_start(u, detail) : NUC_OK;

    if (status == NUC_OK && u->filled > slots->size - u->written)
        return refuse(detail, NUC_NO_MEMORY, NUC_TEXT("the package is larger than a slot"),
                      u->filled - (slots->size - u->written));
    if (status != NUC_OK)
        return status;
    for (; u->erased < u->written + u->filled; u->erased += slots->erase_size) {
        if (slots->erase(slots->user, u->slot, u->erased) != NUC_OK)
            return refuse(detail, NUC_IO, NUC_TEXT("the flash is not erased"), 0);
    }
    if (slots->write(slots->user, u->slot, u->written, u->buffer, u->filled) != NUC_OK)
        return refuse(detail, NUC_IO, NUC_TEXT("the flash is not written"), 0);
    u->written += u->filled;
    u->filled = 0;
    return NUC_OK;
}

enum nuc_status nuc_update_write(struct nuc_update *u, const void *data, size_t size, struct nuc_detail *detail)
{
    struct nuc_detail unused;
    const uint8_t *from = data;

    detail = detail != NULL ? detail : &unused;
    while (size > 0 && u->status == NUC_OK) {
        size_t room = u->buffer_size - u->filled, n = size < room ? size : room;
        memcpy(u->buffer + u->filled, from, n);
        u->filled += n;
        from += n;
        size -= n;
        if (u->filled == u->buffer_size)
            u->status = flush(u, detail);
    }
    return u->status;
}

enum nuc_status nuc_update_finish(struct nuc_update *u, struct nuc_detail *detail)
{
    const struct nuc_slots *slots = u->slots;
    struct nuc_package package;
    struct nuc_detail unused;

    detail = detail != NULL ? detail : &unused;
    size_t whole = (u->filled + slots->write_size - 1) / slots->write_size * slots->write_size;
    if (u->status == NUC_OK && whole > 0) {
        memset(u->buffer + u->filled, 0xFF, whole - u->filled);
        u->filled = whole;
        u->status = flush(u, detail);
    }
    if (u->status == NUC_OK)
        u->status = nuc_package_check(slots->data[u->slot], slots->size, u->firmware, &package, detail);
    if (u->status == NUC_OK && package.size > u->written)
        u->status = refuse(detail, NUC_BAD_INPUT, NUC_TEXT("the package is cut off"), 0);
    return u->status;
}
