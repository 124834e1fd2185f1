/* Which operators of the model are in each kernel call, and what the call is named after them. */
#include <string.h>

#include "host/text.h"

#include "npu/convert/conversion.h"

void nuc_cv_collect_handles(struct nuc_cv *cv)
{
    uint32_t n_ops = cv->graph->n_ops;
    uint32_t *found = nuc_alloc_array(cv->cx, n_ops, sizeof *found);
    /* By operator: 1 + the first one that is a part of it; 1 + the next part of the same. */
    uint32_t *first = nuc_alloc_array(cv->cx, n_ops, sizeof *first);
    uint32_t *next = nuc_alloc_array(cv->cx, n_ops, sizeof *next);

    for (uint32_t k = n_ops; k-- > 0;) {
        /* The node whose calls compute `n`: itself, or the one it became part of. */
        uint32_t n = k;
        while (cv->nodes[n].whole != 0)
            n = cv->nodes[n].whole - 1;
        uint32_t whole = n;
        next[k] = first[whole];
        first[whole] = k + 1;
    }
    for (uint32_t i = 0; i < cv->n_calls; i++) {
        uint32_t count = 0;
        for (uint32_t k = first[cv->calls[i].lt_op]; k > 0; k = next[k - 1]) {
            /* Adds a handle unless it is there; the list is as long as there are operators. */
            uint32_t handle = cv->graph->ops[k - 1].debug_handle;
            uint32_t at = 0;
            while (at < count && found[at] < handle)
                at++;
            if (handle == 0 || (at < count && found[at] == handle))
                continue;
            for (uint32_t c = count++; c > at; c--)
                found[c] = found[c - 1];
            found[at] = handle;
        }
        cv->calls[i].n_handles = count;
        cv->calls[i].handles = nuc_copy(cv->cx, found, count * sizeof *found);
    }
}

static const struct nuc_kernel_name *name_of(const struct nuc_convert_options *options, uint32_t handle)
{
    const struct nuc_kernel_name *name = handle < options->n_names ? &options->names[handle] : NULL;

    return name != NULL && name->node != NULL ? name : NULL;
}

/* The first handle of the call that is a part of the same value. */
static uint32_t first_part(const struct nuc_neutron_call *call, const struct nuc_convert_options *options, uint32_t k)
{
    const struct nuc_kernel_name *name = name_of(options, call->handles[k]);

    for (uint32_t i = 0; i < k && name->value != NULL; i++) {
        const struct nuc_kernel_name *other = name_of(options, call->handles[i]);
        if (other != NULL && other->value != NULL && strcmp(other->value, name->value) == 0)
            return i;
    }
    return k;
}

/* A part of a value alone says which, several are the value. */
static const char *part_name(const struct nuc_neutron_call *call, const struct nuc_convert_options *options, uint32_t k)
{
    const struct nuc_kernel_name *name = name_of(options, call->handles[k]);

    for (uint32_t i = k + 1; i < call->n_handles; i++) {
        if (name_of(options, call->handles[i]) != NULL && first_part(call, options, i) == k)
            return name->value;
    }
    return name->node;
}

const struct nuc_kernel_name *nuc_cv_call_names(struct nuc_cv *cv, const struct nuc_convert_options *options)
{
    struct nuc_kernel_name *names = nuc_alloc_array(cv->cx, cv->n_calls, sizeof *names);

    for (uint32_t i = 0; i < cv->n_calls; i++) {
        struct nuc_text text = {.cx = cv->cx};
        for (uint32_t k = 0; k < cv->calls[i].n_handles; k++) {
            const struct nuc_kernel_name *name = name_of(options, cv->calls[i].handles[k]);
            if (name == NULL || first_part(&cv->calls[i], options, k) != k)
                continue;
            nuc_text_addf(&text, "%s%s", names[i].node == NULL ? "" : " + ", part_name(&cv->calls[i], options, k));
            names[i].node = nuc_text_string(&text);
            names[i].source = names[i].source != NULL ? names[i].source : name->source;
        }
        const struct nuc_lt_op *op = &cv->graph->ops[cv->calls[i].lt_op];
        if (names[i].node == NULL && options->tensors_have_labels && op->n_outputs > 0)
            names[i].node = cv->graph->tensors[op->outputs[0]].name;
    }
    return names;
}
