/* Partitions with their kernels, the program's instructions, and where its memory goes. */
#include <string.h>

#include "archive/json_build.h"
#include "back/program/out_variant.h"
#include "explain/explain_members.h"
#include "host/text.h"
#include "introspect/network_private.h"
#include "npu/convert/convert.h"

/* ---- partitions ---- */

/* Ids of what the kernel computes, each once, and the label after them: "conv1 + relu". */
static void put_kernel_nodes(const struct nuc_network *net, json_t *to, const struct nuc_neutron_call *call)
{
    json_t *list = nuc_put_array(net->cx, to, "nodes");
    uint32_t *ids = nuc_alloc_array(net->cx, (size_t)call->n_handles + 1, sizeof *ids), n = 0;
    struct nuc_text label = {.cx = net->cx};

    for (uint32_t i = 0; i < call->n_handles; i++) {
        uint32_t id = nuc_network_id_of_handle(net, call->handles[i]), k = 0;
        while (k < n && ids[k] != id)
            k++;
        if (id != NUC_NO_ID && k == n)
            ids[n++] = id;
    }
    for (uint32_t i = 0; i < n; i++) {
        nuc_put_int(net->cx, list, NULL, ids[i]);
        nuc_text_addf(&label, "%s%s", i > 0 ? " + " : "", net->nodes[ids[i]].label);
    }
    nuc_put_text(net->cx, to, "label", n > 0 ? nuc_text_string(&label) : NULL);
}

static void put_partition(const struct nuc_network *net, json_t *to, uint32_t index)
{
    const struct nuc_lowered_partition *p = &net->job.m->lowered->partitions[index];
    uint64_t cycles = net->e->target->costs.npu_call;

    for (uint32_t k = 0; k < p->image->n_calls; k++)
        cycles += p->image->calls[k].cycles;
    nuc_put_text(net->cx, to, "tag", p->info.tag);
    uint32_t count = 0;
    for (uint32_t i = 0; i < net->n_nodes; i++)
        count += net->nodes[i].where == NUC_ON_NPU && net->nodes[i].node->partition == (int)index;
    nuc_put_int(net->cx, to, "operators", count);
    nuc_put_count(net->cx, to, "cycles", cycles);
    nuc_put_count(net->cx, to, "call_cycles", net->e->target->costs.npu_call);
    nuc_put_count(net->cx, to, "bytes", p->info.payload_size);
    nuc_put_count(net->cx, to, "scratch_bytes", p->info.scratch_size);
    json_t *list = nuc_put_array(net->cx, to, "kernels");
    for (uint32_t k = 0; k < p->image->n_calls; k++) {
        json_t *kernel = nuc_put_object(net->cx, list, NULL);
        nuc_put_text(net->cx, kernel, "kernel", p->image->calls[k].opcode);
        nuc_put_count(net->cx, kernel, "cycles", p->image->calls[k].cycles);
        put_kernel_nodes(net, kernel, &p->image->calls[k]);
    }
}

void nuc_put_network_obstacles(struct nuc_network *net, json_t *tree)
{
    nuc_put_obstacles(net->cx, tree, net->model->refused);
}

void nuc_put_network_partitions(struct nuc_network *net, json_t *tree)
{
    json_t *list = nuc_put_array(net->cx, tree, "partitions");

    for (uint32_t i = 0; i < net->job.m->lowered->n_partitions; i++)
        put_partition(net, nuc_put_object(net->cx, list, NULL), i);
}

/* ---- instructions ---- */

static void put_instruction(const struct nuc_network *net, json_t *to, size_t index)
{
    const struct nuc_node *n = net->job.made.instructions[index], *owner = net->cycles->owners[index];
    const struct nuc_lowered *l = net->job.m->lowered;
    uint32_t id = owner == NULL || !nuc_is_operator(owner) ? NUC_NO_ID : nuc_network_id(net, owner);
    uint32_t partition = NUC_NO_ID;
    const char *name = NULL;

    if (n != NULL && n->delegate != NULL) {
        name = n->delegate->backend_id;
        for (uint32_t i = 0; i < l->n_partitions; i++)
            partition = l->partitions[i].delegate == n->delegate ? i : partition;
    } else if (n != NULL) {
        struct nuc_out_variant v = nuc_out_variant_of(net->cx, n);
        name = v.overload == NULL || *v.overload == '\0' ? v.name : nuc_format(net->cx, "%s.%s", v.name, v.overload);
    }
    nuc_put_text(net->cx, to, "operator", name);
    nuc_put_text(net->cx, to, "where", partition != NUC_NO_ID ? "npu" : "cpu");
    nuc_put_count(net->cx, to, "cycles", net->cycles->instructions[index]);
    json_t *list = nuc_put_array(net->cx, to, "nodes");
    if (id != NUC_NO_ID)
        nuc_put_int(net->cx, list, NULL, id);
    nuc_put_id(net->cx, to, "partition", partition);
}

void nuc_put_network_instructions(struct nuc_network *net, json_t *tree)
{
    json_t *list = nuc_put_array(net->cx, tree, "instructions");

    for (size_t i = 0; i < net->job.made.n_instructions; i++)
        put_instruction(net, nuc_put_object(net->cx, list, NULL), i);
}

/* ---- memory ---- */

static uint32_t owner_id(const struct nuc_network *net, bool is_arena, const struct nuc_node *const *lowered,
                         uint32_t owner)
{
    if (owner == 0)
        return NUC_NO_ID;
    if (!is_arena)
        return nuc_network_id_of_handle(net, owner);
    const struct nuc_node *node = lowered[owner - 1];
    if (node != NULL && node->op == NUC_OP_ALLOC && node->n_users > 0)
        node = node->users[0]; /* whose scratch it is */
    return node == NULL ? NUC_NO_ID : nuc_network_id_of_lowered(net, node);
}

static void put_pool(const struct nuc_network *net, json_t *to, size_t index, const struct nuc_node *const *lowered)
{
    const struct nuc_map_pool *p = &net->job.made.memory->pools[index];

    nuc_put_text(net->cx, to, "name", p->name);
    nuc_put_text(net->cx, to, "step", p->step);
    uint64_t last = 0;
    for (size_t i = 0; i < p->n_tensors; i++)
        last = p->tensors[i].last > last ? p->tensors[i].last : last;
    nuc_put_count(net->cx, to, "steps", last + 1);
    nuc_put_count(net->cx, to, "bytes", p->size);
    nuc_put_count(net->cx, to, "bound_bytes", p->bound);
    nuc_put_bool(net->cx, to, "proven", p->proven);
    json_t *list = nuc_put_array(net->cx, to, "tensors");
    for (size_t i = 0; i < p->n_tensors; i++) {
        const struct nuc_planned *t = &p->tensors[i];
        json_t *o = nuc_put_object(net->cx, list, NULL);
        nuc_put_text(net->cx, o, "label", t->name);
        nuc_put_id(net->cx, o, "node", owner_id(net, strcmp(p->step, "instruction") == 0, lowered, t->owner));
        nuc_put_count(net->cx, o, "address", t->address);
        nuc_put_count(net->cx, o, "bytes", t->size);
        nuc_put_int(net->cx, o, "first", t->first);
        nuc_put_int(net->cx, o, "last", t->last);
    }
}

void nuc_put_network_memory(struct nuc_network *net, json_t *tree)
{
    json_t *list = nuc_put_array(net->cx, tree, "memory");
    /* By id of the lowered graph. */
    const struct nuc_graph *g = net->job.m->graph;
    const struct nuc_node **lowered = nuc_alloc_array(net->cx, (size_t)g->next_id + 1, sizeof(struct nuc_node *));

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        lowered[n->id] = n;
    for (size_t i = 0; i < net->job.made.memory->n_pools; i++)
        put_pool(net, nuc_put_object(net->cx, list, NULL), i, lowered);
    nuc_put_states(net->cx, tree, net->e);
    nuc_put_stream(net->cx, tree, net->e->stream);
}
