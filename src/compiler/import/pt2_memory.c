/*
 * In-place operators of a .pt2 archive. The archive keeps in-place operators (relu_) and the aliases views make. Here
 * every value is immutable, so a read of the old name after the write must read the result of the write. That is only
 * possible to say when the written tensor has no other name: views of it that are read later are refused.
 */
#include <string.h>

#include "compiler/import/importer.h"

/* Results that may share memory with their input in torch; an item does when the operator of its tuple makes views. */
static bool is_alias(const struct nuc_node *node)
{
    const struct nuc_node *maker = node->op == NUC_OP_GETITEM ? nuc_arg_node(node, NUC_SELF) : node;

    return maker->in_place || (nuc_op_kind(maker->op) == NUC_KIND_SHAPE && maker->op != NUC_OP_CLONE);
}

static struct nuc_value_state *state_of(struct nuc_importer *im, const struct nuc_node *node)
{
    im->states = nuc_grow(im->cx, im->states, &im->states_capacity, im->g->next_id, sizeof *im->states);
    return &im->states[node->id];
}

static const struct nuc_node *memory_of(struct nuc_importer *im, const struct nuc_node *node)
{
    const struct nuc_node *memory = state_of(im, node)->memory;

    return memory == NULL ? node : memory;
}

/* The value that holds what the memory of `node` contains now, as far as writes through this name go. */
static struct nuc_node *resolve(struct nuc_importer *im, struct nuc_node *node)
{
    struct nuc_node *last = node;

    while (state_of(im, last)->current != NULL)
        last = state_of(im, last)->current;
    if (last != node)
        state_of(im, node)->current = last;
    return last;
}

/* A program has no state: what one run writes to a buffer, the next would have to see. */
static void check_writable(struct nuc_importer *im, const struct nuc_node *node, const struct nuc_node *memory,
                           const struct nuc_json *at)
{
    if (nuc_is_static(memory))
        nuc_json_fail(at, NUC_UNSUPPORTED,
                      "%s changes '%s' of the model: call model.eval() before exporting, or write to a copy",
                      nuc_node_text(im->cx, node), memory->target);
}

void nuc_note_memory(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *at)
{
    struct nuc_node *self = nuc_arg_node(node, NUC_SELF);

    if (self == NULL || !is_alias(node))
        return;
    state_of(im, node)->memory = memory_of(im, self);
    if (node->in_place) {
        check_writable(im, node, memory_of(im, self), at);
        state_of(im, self)->current = node;
        state_of(im, memory_of(im, self))->written = node;
    }
}

/* No operator may have written to the memory of `node` under another name since `node` was made. */
static void check_stale(struct nuc_importer *im, const struct nuc_node *node, const struct nuc_json *at)
{
    const struct nuc_node *written = state_of(im, memory_of(im, node))->written;

    if (written != NULL && written->id > node->id)
        nuc_json_fail(at, NUC_UNSUPPORTED, "'%s' shares memory with what %s wrote: use the operator without '_'",
                      node->name, nuc_node_text(im->cx, written));
}

struct nuc_node *nuc_named_value(struct nuc_importer *im, const struct nuc_json *name)
{
    const char *text = nuc_json_string(name);
    struct nuc_node *node = nuc_find_node(im->g, text);

    if (node == NULL)
        nuc_json_fail(name, NUC_BAD_INPUT, "there is no value '%s' in front of this", text);
    node = resolve(im, node);
    check_stale(im, node, name);
    return node;
}
