/*
 * In place of a project's main.c: damage_pte PACKAGE. The package is given 1,000 times with bytes that are changed, and
 * its writing is cut off at 50 random bytes; after each the firmware starts again, with the program that it was linked
 * with.
 */
#include <string.h>

#include "inference.h"
#include "port/port.h"
#include "port/print.h"

enum nuc_status verify(void *user, const uint8_t *bytes, size_t size, const uint8_t *signature, size_t signature_size);

enum { DAMAGED = 1000, CUT = 50, MOST = 1 << 16 };

static uint8_t package[MOST], changed[MOST], expected[4096];
static uint32_t seed = 7, verified;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static int give(const uint8_t *bytes, size_t size)
{
    struct nuc_detail detail;
    enum nuc_status status = inference_update_begin(&detail);

    for (size_t at = 0; at < size && status == NUC_OK; at += 200)
        status = inference_update_write(bytes + at, size - at < 200 ? size - at : 200, &detail);
    return status == NUC_OK && inference_update_finish(&detail) == NUC_OK;
}

/* Its version, and whether it computes what it did; 0: it does not. */
static uint32_t runs(int first)
{
    struct nuc_detail detail;

    if (inference_load(&detail) != NUC_OK)
        return 0;
    for (size_t i = 0; i < inference_inputs(); i++)
        memset(inference_input(i).data, 1, inference_input(i).bytes);
    if (inference_run(&detail) != NUC_OK || inference_output(0).bytes > sizeof expected)
        return 0;
    if (first)
        memcpy(expected, inference_output(0).data, inference_output(0).bytes);
    return memcmp(expected, inference_output(0).data, inference_output(0).bytes) == 0 ? inference_version() : 0;
}

/* The project is built with -DVERIFY=verify. */
enum nuc_status verify(void *user, const uint8_t *bytes, size_t size, const uint8_t *signature, size_t signature_size)
{
    verified += user == NULL && memcmp(bytes, "NUCP", 4) == 0 && size > 64 && signature == NULL && signature_size == 0;
    return NUC_OK;
}

int nuc_firmware_main(void)
{
    const char *words[2] = {NULL};
    int file = nuc_port_arguments(words, 2) == 2 ? nuc_port_open(words[1], 0) : -1;
    size_t size = file < 0 ? 0 : nuc_port_read(file, package, MOST);
    uint32_t taken = 0, lost = 0;

    if (size == 0 || runs(1) != 1)
        return 2;
    for (uint32_t i = 0; i < DAMAGED; i++) {
        memcpy(changed, package, size);
        changed[draw((uint32_t)size)] ^= (uint8_t)(1 + draw(255));
        taken += (uint32_t)give(changed, size);
        lost += runs(0) != 1;
    }
    for (uint32_t i = 0; i < CUT; i++) {
        taken += (uint32_t)give(package, draw((uint32_t)size));
        lost += runs(0) != 1;
    }
    nuc_print_line("damaged: ", DAMAGED, ", ");
    nuc_print_line("cut off: ", CUT, ", ");
    nuc_print_line("taken: ", taken, ", ");
    nuc_print_line("old program lost: ", lost, "\n");
    int whole = give(package, size);
    struct nuc_detail detail;
    if (!whole || inference_load(&detail) != NUC_OK)
        return 3;
    nuc_print_line("whole: version ", inference_version(), verified > 1000 ? ", verified\n" : "\n");
    return 0;
}
