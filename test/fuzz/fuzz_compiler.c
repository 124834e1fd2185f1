#include "fuzz_compiler.h"

#include <stdlib.h>

static void *allocate(void *user, void *block, size_t size)
{
    struct fuzz_budget *budget = user;

    if (size == 0) {
        free(block);
        return NULL;
    }
    if (size > budget->left)
        return NULL;
    budget->left -= size;
    return malloc(size);
}

struct nuc_compiler *fuzz_compiler(const struct nuc_options *options, struct fuzz_budget *budget, size_t limit)
{
    struct nuc_memory_hooks hooks = {allocate, budget};

    budget->left = limit;
    struct nuc_compiler *c = nuc_compiler_new(options, &hooks);
    if (c == NULL)
        abort();
    return c;
}

void fuzz_compiler_verdict(const struct nuc_compiler *c, enum nuc_status status)
{
    const char *message = nuc_compiler_message(c);

    if (status == NUC_INTERNAL)
        fuzz_broken(message);
    fuzz_verdict(status == NUC_OK ? NULL : message[0] != '\0' ? message : nuc_status_name(status));
}
