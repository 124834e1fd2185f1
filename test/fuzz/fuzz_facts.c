/*
 * What a program says of its data: facts that are read and written again are the same, and so is every text in them
 * once it is made fit for a terminal.
 */
#include <string.h>

#include "data/metadata.h"
#include "fuzz_support.h"

#define MEMORY ((size_t)32 << 20)

static void check_text(struct nuc_context *cx, const char *text)
{
    for (const char *c = text == NULL ? "" : nuc_metadata_text(cx, text); *c != '\0'; c++) {
        if ((*c > '\0' && *c < ' ') || *c == 0x7F)
            fuzz_broken("a text for the terminal holds a control byte");
    }
}

static void read_twice(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    const char *why = NULL;
    const struct nuc_metadata *facts = nuc_metadata_read(cx, *bytes, &why);

    if (facts == NULL)
        nuc_fail(cx, NUC_BAD_INPUT, "%s", why != NULL ? why : "no reason");
    for (size_t i = 0; i < facts->n_inputs; i++)
        check_text(cx, facts->inputs[i].name);
    for (size_t i = 0; i < facts->n_outputs; i++)
        check_text(cx, facts->outputs[i].name);
    struct nuc_span first = nuc_metadata_write(cx, facts);
    facts = nuc_metadata_read(cx, first, &why);
    if (facts == NULL)
        fuzz_broken(why != NULL ? why : "facts that are written are not read");
    struct nuc_span second = nuc_metadata_write(cx, facts);
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
        fuzz_broken("facts that are written, read and written again change");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, read_twice);
}
