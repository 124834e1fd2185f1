/*
 * The command `convert`: from LiteRT model to LiteRT model, through files. What is written is read again, and
 * converting it again finds nothing more to do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz_compiler.h"

static char in_memory[] = "/dev/shm/fuzz_convert_XXXXXX", on_disk[] = "/tmp/fuzz_convert_XXXXXX";
static char *output = in_memory;

static void remove_output(void)
{
    unlink(output);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    int fd = mkstemp(output);

    (void)argc;
    (void)argv;
    if (fd < 0) { /* a container may have no /dev/shm */
        output = on_disk;
        fd = mkstemp(output);
    }
    if (fd < 0)
        abort();
    close(fd);
    atexit(remove_output);
    return 0;
}

static enum nuc_status convert(struct nuc_compiler *c, const char *path, uint32_t h)
{
    const struct nuc_convert_model_options options = {
        .min_operators = h % 3, .profile = (h & 8) != 0, .fetch_constants_to_sram = (h & 16) != 0};
    struct nuc_convert_report report, again;
    enum nuc_status s = nuc_convert_model(c, path, output, &options, &report);

    if (s != NUC_OK)
        return s;
    if (report.n_inside > report.n_operators)
        fuzz_broken("more operators are on the NPU than there are");
    if (report.n_graphs != 0) {
        s = nuc_convert_model(c, output, output, &options, &again);
        if (s != NUC_OK && s != NUC_NO_MEMORY && s != NUC_UNSUPPORTED)
            fuzz_broken(nuc_compiler_message(c));
    }
    return NUC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nuc_options options;
    struct fuzz_budget budget;
    char path[64];
    int fd = fuzz_file(data, size, path);

    if (fd < 0)
        return 0;
    nuc_options_default(&options);
    options.threads = 1;
    struct nuc_compiler *c = fuzz_compiler(&options, &budget, (size_t)128 << 20);
    enum nuc_status s = convert(c, path, fuzz_checksum(data, size));
    fuzz_compiler_verdict(c, s);
    nuc_compiler_free(c);
    close(fd);
    return 0;
}
