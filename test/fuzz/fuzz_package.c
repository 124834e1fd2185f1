/*
 * Packages of programs under a checksum that fits: refused, or loaded into memory of the firmware. Written to a slot in
 * pieces one is taken where it is taken as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "device/base/package.h"
#include "device/base/program_sum.h"
#include "fuzz_backend.h"
#include "fuzz_support.h"

enum { SLOT = 1 << 16, ERASE = 4096, WRITE = 16, ARENA = 1 << 15, SRAM = 1 << 12 };

/* The slots lie one after the other. */
static enum nuc_status erase(void *user, size_t slot, size_t offset)
{
    memset((uint8_t *)user + slot * SLOT + offset, 0xFF, ERASE);
    return NUC_OK;
}

static enum nuc_status write(void *user, size_t slot, size_t offset, const uint8_t *data, size_t size)
{
    memcpy((uint8_t *)user + slot * SLOT + offset, data, size);
    return NUC_OK;
}

static enum nuc_status update(const struct nuc_firmware *firmware, const uint8_t *data, size_t size)
{
    uint8_t *flash = fuzz_block(2 * SLOT), buffer[400];
    const struct nuc_slots slots = {.data = {flash, flash + SLOT},
                                    .size = SLOT,
                                    .erase_size = ERASE,
                                    .write_size = WRITE,
                                    .erase = erase,
                                    .write = write,
                                    .user = flash};
    struct nuc_package package;
    struct nuc_program program;
    struct nuc_update u;
    struct nuc_detail d;
    size_t piece = 1 + fuzz_choice(data, size, 600);

    memset(flash, 0xFF, 2 * SLOT);
    enum nuc_status status = nuc_update_begin(&u, &slots, firmware, NULL, buffer, sizeof buffer);
    for (size_t at = 0; at < size && status == NUC_OK; at += piece)
        status = nuc_update_write(&u, data + at, piece < size - at ? piece : size - at, &d);
    status = nuc_update_finish(&u, &d);
    if (status == NUC_OK && nuc_slots_load(&program, &slots, firmware, &package, NULL, &d) == NUC_OK)
        nuc_program_unload(&program);
    free(flash);
    return status;
}

static void seal(uint8_t *bytes, size_t size)
{
    uint64_t whole = size < NUC_PACKAGE_RECORDS ? UINT64_MAX
                                                : (uint64_t)nuc_load_u32(bytes + NUC_PACKAGE_HEADER_SIZE) +
                                                      nuc_load_u32(bytes + NUC_PACKAGE_PROGRAM_SIZE);

    if (whole <= size && whole > NUC_PACKAGE_AT_FORMAT)
        nuc_store_u32(bytes + NUC_PACKAGE_CHECKSUM,
                      nuc_crc32(0, bytes + NUC_PACKAGE_AT_FORMAT, (size_t)whole - NUC_PACKAGE_AT_FORMAT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_block(size), *arena = fuzz_block(ARENA), *sram = fuzz_block(SRAM);
    const struct nuc_bank banks[] = {{NULL, arena, ARENA}, {"sram", sram, SRAM}};
    const struct nuc_firmware firmware = {
        .kernels = &nuc_default_kernels, .backends = &fuzz_backends, .banks = banks, .n_banks = 2, .cpu = "Cortex-M33"};
    struct nuc_package package;
    struct nuc_program program;
    struct nuc_detail d;

    if (size > 0)
        memcpy(bytes, data, size);
    seal(bytes, size);
    enum nuc_status status = nuc_package_check(bytes, size, &firmware, &package, &d);
    if (size < SLOT && (update(&firmware, bytes, size) == NUC_OK) != (status == NUC_OK))
        fuzz_broken("an update is taken or refused unlike its package");
    if (status == NUC_OK) {
        status = nuc_package_load(&program, &package, &firmware, NULL, &d);
        nuc_program_unload(&program);
    }
    fuzz_verdict_of(status, &d);
    free(bytes);
    free(arena);
    free(sram);
    return 0;
}
