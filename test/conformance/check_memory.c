/*
 * Check of the memory plans: the arena of every program and the scratch of every delegate are proven optimal, and those
 * of known networks are as small as others have made them.
 */
#include <string.h>

#include "conformance.h"

/* Bytes of scratch others reach, inputs and outputs outside it. */
struct known {
    const char *name;
    size_t scratch;
};

static const struct known known[] = {
    {"litert/kws_dscnn:model", 16000},
    {"litert/nxp_cifarnet:model", 40960},
    {"litert/nxp_mobilenet_025_128:model", 98304},
    {"models/mobilenetv2_bn/contiguous:mobilenetv2_bn", 1505280},
};

static enum nuc_status compile(struct nuc_compiler *c, const char *path, struct nuc_program_report *out)
{
    struct nuc_model *model, *partitioned, *lowered;
    const uint8_t *bytes;
    size_t size;
    enum nuc_status s = nuc_model_open(c, path, &model);

    if (s == NUC_OK)
        s = nuc_partition(model, &partitioned);
    if (s == NUC_OK)
        s = nuc_lower(partitioned, &lowered);
    if (s == NUC_OK)
        s = nuc_program(lowered, &bytes, &size);
    return s == NUC_OK ? nuc_program_report(c, out) : s;
}

static enum conf_result judge(const struct conf_case *c, const struct nuc_program_report *p, struct conf_report *r)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, c->label) == 0 && p->delegate_scratch > known[i].scratch)
            return conf_differ(r, "%zu bytes of scratch, %zu are enough", p->delegate_scratch, known[i].scratch);
    }
    if (!p->arena_proven)
        return conf_differ(r, "arena of %zu bytes, %zu are alive at the peak", p->arena, p->arena_lower_bound);
    if (!p->scratch_proven)
        return conf_differ(r, "scratch of %zu bytes, %zu are alive at the peak", p->delegate_scratch, p->scratch_bound);
    return CONF_EQUAL;
}

enum conf_result check_memory(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_report *r)
{
    struct nuc_program_report report;
    char path[4096];
    enum conf_result result;

    if (!conf_path(c, "qdq.pt2", path, sizeof path) && !conf_path(c, "tflite", path, sizeof path))
        return CONF_ABSENT;
    enum nuc_status status = compile(compiler, path, &report);
    if (status == NUC_UNSUPPORTED)
        result = CONF_ABSENT;
    else if (status != NUC_OK)
        result = conf_failed(r, compiler, "compile");
    else {
        r->has_memory = strncmp(c->label, "ops/", 4) != 0;
        r->arena = report.arena;
        r->scratch = report.delegate_scratch;
        result = judge(c, &report, r);
    }
    return result;
}
