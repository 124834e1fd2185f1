/* A profile as JSON (docs/json.md). */
#include "archive/json_build.h"
#include "back/profile/profile.h"

static double microseconds(const struct nuc_profile *p, uint64_t cycles)
{
    return (double)cycles / p->target->clock_hz * 1e6;
}

const char *nuc_profile_tree(struct nuc_context *cx, const struct nuc_profile *p)
{
    static const char *const kinds[] = {
        [NUC_PROFILE_CPU] = "operator", [NUC_PROFILE_CALL] = "call", [NUC_PROFILE_KERNEL] = "kernel"};
    json_t *tree = nuc_json_tree(cx);

    nuc_put_text(cx, tree, "target", p->target->name);
    nuc_put_double(cx, tree, "clock_hz", p->target->clock_hz);
    nuc_put_count(cx, tree, "cycles", p->cycles);
    nuc_put_count(cx, tree, "npu_cycles", p->npu_cycles);
    nuc_put_count(cx, tree, "cpu_cycles", p->cycles - p->npu_cycles);
    nuc_put_double(cx, tree, "us", microseconds(p, p->cycles));
    nuc_put_count(cx, tree, "fetched_bytes", p->fetched);
    nuc_put_count(cx, tree, "fetch_cycles", p->fetch_cycles);
    nuc_put_count(cx, tree, "fetch_by_dma_cycles", p->fetch_cycles_by_dma);
    nuc_put_bool(cx, tree, "recorded", !p->unrecorded);
    nuc_put_bool(cx, tree, "foreign_microcode", p->foreign);
    json_t *list = nuc_put_array(cx, tree, "rows");
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct nuc_profile_row *row = &p->rows[i];
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "kind", kinds[row->kind]);
        nuc_put_text(cx, o, "on", row->kind == NUC_PROFILE_CPU ? "cpu" : "npu");
        nuc_put_int(cx, o, "instruction", row->instruction);
        nuc_put_known_count(cx, o, "kernel", row->kind == NUC_PROFILE_KERNEL, row->kernel);
        nuc_put_text(cx, o, "operator", row->what);
        nuc_put_text(cx, o, "label", row->label);
        nuc_put_text(cx, o, "node", row->node);
        nuc_put_text(cx, o, "source", row->source);
        nuc_put_count(cx, o, "cycles", row->cycles);
        nuc_put_double(cx, o, "us", microseconds(p, row->cycles));
        nuc_put_bool(cx, o, "recorded", row->recorded);
    }
    return nuc_json_text(cx, tree);
}
