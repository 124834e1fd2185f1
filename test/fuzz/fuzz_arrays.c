/* .npz and .npy: the bytes of what is read fit its shape, and all of them can be read. */
#include <unistd.h>

#include "data/arrays.h"
#include "fuzz_support.h"

#define MEMORY ((size_t)256 << 20)

static void read_all(struct nuc_context *cx, void *arg)
{
    struct nuc_arrays arrays = nuc_read_arrays(cx, arg);
    size_t sum = 0;

    for (size_t i = 0; i < arrays.count; i++) {
        const struct nuc_array *a = &arrays.items[i];
        size_t bytes = nuc_dtype_size(a->dtype);
        for (uint32_t d = 0; d < a->rank; d++)
            bytes *= (size_t)a->shape[d];
        if (bytes != a->data.size)
            fuzz_broken("an array's bytes do not fit its shape");
        for (size_t b = 0; b < a->data.size; b++)
            sum += a->data.data[b];
    }
    if (sum == SIZE_MAX)
        fuzz_broken("unreachable");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    struct nuc_context *cx = fuzz_context(&memory, MEMORY);
    char path[64];
    int fd = fuzz_file(data, size, path);

    if (fd >= 0) {
        enum nuc_status status = nuc_try(cx, read_all, path);
        if (status == NUC_INTERNAL)
            fuzz_broken(cx->message);
        fuzz_verdict(status == NUC_OK ? NULL : cx->message);
        close(fd);
    }
    nuc_context_free(cx);
    return 0;
}
