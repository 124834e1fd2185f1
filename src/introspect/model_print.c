/* What tells the contents of two models apart. */
#include "driver/driver.h"
#include "host/hash.h"
#include "introspect/introspect.h"

const char *nuc_model_print(const struct nuc_model *m)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint64_t print = nuc_hash_text(NUC_HASH_OF_NOTHING, nuc_graph_print(m->graph, false));

    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        if (n->data == NULL)
            continue;
        print = nuc_hash_bytes(print, n->data->bytes.data, n->data->bytes.size);
        print = nuc_hash_bytes(print, n->data->strides, n->vals[0].rank * sizeof n->data->strides[0]);
    }
    nuc_pop_arena(cx, outer);
    return nuc_hash_digits(cx, print);
}
