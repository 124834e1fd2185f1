/* Model, target, and figures of the whole. */
#include <math.h>

#include "archive/json_build.h"
#include "explain/explain_members.h"
#include "explain/list_operators.h"
#include "introspect/network_private.h"
#include "npu/convert/convert.h"

/* ---- the model ---- */

static void put_tensor(const struct nuc_network *net, json_t *to, const char *name, const struct nuc_tensor_info *t)
{
    nuc_put_text(net->cx, to, "name", name);
    nuc_put_text(net->cx, to, "dtype", nuc_dtype_name(t->dtype));
    nuc_put_sizes(net->cx, to, t->sizes, t->rank);
}

void nuc_put_network_model(struct nuc_network *net, json_t *tree)
{
    json_t *to = nuc_put_object(net->cx, tree, "model");
    struct nuc_tensor_info t;

    nuc_put_text(net->cx, to, "file", nuc_model_file(net->model));
    nuc_put_text(net->cx, to, "kind", net->model->from_litert ? "tflite" : "pt2");
    nuc_put_bool(net->cx, to, "quantized", nuc_model_is_quantized(net->model));
    json_t *list = nuc_put_array(net->cx, to, "inputs");
    const struct nuc_seen *seen = net->made_up ? NULL : net->quantized->seen;
    for (size_t i = 0; nuc_model_input(net->model, i, &t) == NUC_OK; i++) {
        json_t *input = nuc_put_object(net->cx, list, NULL);
        put_tensor(net, input, nuc_input_name(net->model, i), &t);
        bool known = seen != NULL && i < seen->n_inputs;
        nuc_put_measure(net->cx, input, "min", known ? seen->least[i] : (double)NAN);
        nuc_put_measure(net->cx, input, "max", known ? seen->most[i] : (double)NAN);
    }
    list = nuc_put_array(net->cx, to, "outputs");
    for (size_t i = 0; nuc_model_output(net->model, i, &t) == NUC_OK; i++)
        put_tensor(net, nuc_put_object(net->cx, list, NULL), nuc_output_name(net->model, i), &t);
    const struct nuc_target *target = net->e->target;
    to = nuc_put_object(net->cx, tree, "target");
    nuc_put_text(net->cx, to, "name", target->name);
    nuc_put_text(net->cx, to, "description", target->description);
    nuc_put_text(net->cx, to, "converter_flavor", net->e->flavor->name);
    nuc_put_double(net->cx, to, "clock_hz", target->clock_hz);
    nuc_put_bool(net->cx, to, "npu", target->npu_name != NULL);
    nuc_put_bool(net->cx, to, "int8_cpu", target->cpu != NULL);
    nuc_put_memories(net->cx, to, target);
}

/* ---- figures ---- */

bool nuc_network_quality(const struct nuc_network *net, struct nuc_output_quality *out)
{
    const struct nuc_model *m = net->made_up ? net->model : net->quantized;
    struct nuc_output_quality q;
    bool any = false;

    for (size_t i = 0; i < nuc_model_n_qualities(m); i++) {
        if (nuc_model_quality(m, i, &q) != NUC_OK || !q.is_float || (any && q.sqnr_db >= out->sqnr_db))
            continue;
        *out = q;
        any = true;
    }
    return any;
}

void nuc_put_network_figures(struct nuc_network *net, json_t *to)
{
    const struct nuc_explanation *e = net->e;
    uint64_t on_cpu = e->n_operators - e->n_delegated, folded = 0;

    for (uint32_t i = 0; i < net->n_nodes; i++)
        folded += net->nodes[i].where == NUC_FOLDED && nuc_is_counted(net->nodes[i].row->node);
    nuc_put_count(net->cx, to, "operators", e->n_operators);
    nuc_put_count(net->cx, to, "on_npu", e->n_delegated);
    nuc_put_count(net->cx, to, "on_cpu", on_cpu);
    nuc_put_count(net->cx, to, "cpu_int8", e->n_on_cpu[NUC_NUMBERS_INT8]);
    nuc_put_count(net->cx, to, "cpu_int16", e->n_on_cpu[NUC_NUMBERS_INT16]);
    nuc_put_count(net->cx, to, "cpu_integers", e->n_on_cpu[NUC_NUMBERS_INTEGERS]);
    nuc_put_count(net->cx, to, "cpu_float", e->n_on_cpu[NUC_NUMBERS_FLOAT]);
    nuc_put_count(net->cx, to, "folded", folded);
    nuc_put_count(net->cx, to, "partitions", e->n_partitions);
    nuc_put_known_count(net->cx, to, "cycles", !e->foreign, nuc_explained_cycles(e));
    nuc_put_known_count(net->cx, to, "npu_cycles", !e->foreign, e->npu_cycles);
    nuc_put_known_count(net->cx, to, "cpu_cycles", !e->foreign, e->cpu_cycles);
    nuc_put_count(net->cx, to, "lost_cycles", e->lost_cycles);
    nuc_put_measure(net->cx, to, "latency_us",
                    e->foreign ? (double)NAN : (double)nuc_explained_cycles(e) / e->target->clock_hz * 1e6);
    uint64_t macs = 0;
    for (uint32_t i = 0; i < net->n_nodes; i++)
        macs += net->nodes[i].row != NULL ? net->nodes[i].row->macs : 0;
    nuc_put_count(net->cx, to, "macs", macs);
    const struct nuc_program_report *p = &net->job.made.report;
    size_t budget = net->model->settings->o.memory_budget;
    size_t scratch = p->scratch_in_arena ? 0 : p->delegate_scratch;
    nuc_put_count(net->cx, to, "arena_bytes", p->arena);
    nuc_put_count(net->cx, to, "scratch_bytes", p->delegate_scratch);
    nuc_put_bool(net->cx, to, "scratch_in_arena", p->scratch_in_arena);
    nuc_put_count(net->cx, to, "staging_bytes", p->staging);
    nuc_put_count(net->cx, to, "memory_bytes", p->arena + scratch + p->staging);
    nuc_put_known_count(net->cx, to, "memory_budget_bytes", budget > 0, budget);
    nuc_put_banks(net->cx, to, p);
    nuc_put_count(net->cx, to, "strips", p->n_strips);
    nuc_put_count(net->cx, to, "program_bytes", p->program);
    const struct nuc_lowered *l = net->job.m->lowered;
    uint64_t bytes = net->job.made.constants;
    for (uint32_t i = 0; i < l->n_partitions; i++)
        bytes += l->partitions[i].image->weights.size;
    nuc_put_count(net->cx, to, "weights_bytes", bytes);
}
