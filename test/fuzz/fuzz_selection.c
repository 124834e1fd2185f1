/* Kernel selection files: what is read and written again names the same kernels. */
#include <string.h>

#include "fuzz_support.h"
#include "npu/convert/kernel_selection.h"

#define MEMORY ((size_t)16 << 20)

static void read_twice(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    struct nuc_kernel_selection first = {.used = {false}}, second = {.used = {false}};

    nuc_kernel_selection_read(cx, "input", *bytes, &first);
    nuc_kernel_selection_read(cx, "written", nuc_kernel_selection_write(cx, &first), &second);
    if (memcmp(&first, &second, sizeof first) != 0)
        fuzz_broken("a kernel selection that is written and read changes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, read_twice);
}
