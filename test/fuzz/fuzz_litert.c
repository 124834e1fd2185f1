/* LiteRT models: what is read can be verified, printed and written; written twice it is the same bytes. */
#include <string.h>

#include "fuzz_support.h"
#include "litert/litert.h"

#define MEMORY ((size_t)128 << 20)

static void verify(struct nuc_context *cx, void *arg)
{
    (void)cx;
    nuc_lt_verify(arg);
}

static void round_trip(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    struct nuc_lt_model *m = nuc_lt_read(cx, "input", *bytes);

    nuc_lt_print(m);
    struct nuc_span first = nuc_lt_write(m);
    struct nuc_span second = nuc_lt_write(nuc_lt_read(cx, "written", first));
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
        fuzz_broken("a model that is written, read and written again changes");
    if (nuc_try(cx, verify, m) == NUC_INTERNAL)
        fuzz_broken(cx->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, round_trip);
}
