/*
 * Runs the test cases of the bundled program in the image and says, over the serial line and the port's text output,
 * PASS or which node differs first (docs/firmware.md, "Self-test").
 */
#include "firmware/runner/runner.h"
#include "firmware/selftest/selftest.h"
#include "port/port.h"
#include "tables.h"

extern const struct nuc_selftest tables_selftest;

int nuc_firmware_main(void)
{
    struct nuc_selftest_run run;
    struct nuc_board_memory m;
    struct nuc_program program = {.image = NULL};
    struct nuc_detail detail;
    const void *image;
    size_t size;

    m.at = nuc_port_memory(&m.left);
    selftest_begin(&run, &tables_selftest);
    enum nuc_status status = nuc_find_image(&image, &size, &detail);
    if (status == NUC_OK)
        nuc_selftest_image(&run, image, size);
    if (status == NUC_OK)
        status = tables_start();
    if (status == NUC_OK && !run.is_over)
        status = nuc_load_image(&program, image, size, &m, &detail);
    if (status != NUC_OK)
        nuc_selftest_stopped(&run, status, &detail);
    nuc_selftest_program(&run, &program);
    return nuc_selftest_end(&run);
}
