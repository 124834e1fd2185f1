/*
 * What a program says of its data: facts that are read and written again are the same, and so is every text in them
 * once it is made fit for a terminal.
 */
#include <string.h>

#include "data/metadata.h"
#include "device/decision/bind.h"
#include "fuzz_support.h"

#define MEMORY ((size_t)32 << 20)

static void check_text(struct nuc_context *cx, const char *text)
{
    for (const char *c = text == NULL ? "" : nuc_metadata_text(cx, text); *c != '\0'; c++) {
        if ((*c > '\0' && *c < ' ') || *c == 0x7F)
            fuzz_broken("a text for the terminal holds a control byte");
    }
}

/* What facts say of decisions is what runtimes read, which take other bytes for none. */
static void check_record(struct nuc_context *cx, const struct nuc_decision_rule *d)
{
    const size_t size = nuc_decision_bytes(d);
    uint8_t *bytes = nuc_alloc(cx, size), *again = nuc_alloc(cx, size);
    struct nuc_decision_rule loaded;

    nuc_decision_store(d, bytes);
    if (!nuc_decision_load(&loaded, (struct nuc_span){bytes, size}))
        fuzz_broken("a decision of facts is none for runtimes");
    nuc_decision_store(&loaded, again);
    if (memcmp(bytes, again, size) != 0)
        fuzz_broken("a decision that is loaded is another one");
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bytes[i] ^ (i * 37 + size));
    nuc_decision_load(&loaded, (struct nuc_span){bytes, size});
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
    if (facts->decision != NULL)
        check_record(cx, facts->decision);
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
