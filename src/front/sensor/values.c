/* "values": what a sensor's axes give, as it is: (value - mean) / std of each axis. */
#include "front/sensor/sensor.h"
#include "rewrite/insert.h"

enum { MOST_AXES = 64 };

/* One number, or one for each axis. */
static void read_numbers(const struct nuc_json *description, const char *key, double least, double absent, int64_t axes,
                         float *to)
{
    const struct nuc_json j = nuc_json_optional(description, key);
    const size_t n = j.type == NUC_JSON_ARRAY ? nuc_json_count(&j) : 1;

    if (n != 1 && n != (size_t)axes)
        nuc_json_fail(&j, NUC_BAD_INPUT, "has %zu numbers: give one, or one for each of %lld axes", n, (long long)axes);
    for (int64_t i = 0; i < axes; i++) {
        const struct nuc_json item = j.type == NUC_JSON_ARRAY ? nuc_json_item(&j, n == 1 ? 0 : (size_t)i) : j;
        const double value = nuc_json_is_there(&j) ? nuc_json_double(&item) : absent;
        if (!(value >= least && value <= 1e9))
            nuc_json_fail(&item, NUC_BAD_INPUT, "is %.9g: %.9g to 1e9 are taken", value, least);
        to[i] = (float)value;
    }
}

/* Stays in float, whatever the network is quantized to: what a sensor gives has more than eight bits. */
static struct nuc_node *in_float(struct nuc_front_end *f, enum nuc_op op, struct nuc_node *value, const float *numbers,
                                 int64_t axes)
{
    struct nuc_node *node =
        nuc_insert_binary(f->g, f->before, op, value, nuc_insert_floats(f->g, f->before, numbers, &axes, 1));
    struct nuc_source *source = nuc_copy(f->g->cx, node->source, sizeof *source);

    source->width = NUC_WIDTH_FLOAT;
    source->wide = "--front-end";
    node->source = source;
    return node;
}

/* A row for each point of time, as .csv files have them; where the model has a row for each axis, these are turned. */
struct nuc_node *nuc_build_values(struct nuc_front_end *f, const struct nuc_json *description)
{
    static const char *const keys[] = {"axes", "type", "mean", "std", "step", NULL}, *const types[] = {"int16",
                                                                                                       "float32", NULL};
    const int64_t axes = nuc_front_end_int(description, "axes", 1, MOST_AXES, 3), elements = nuc_elements(&f->wanted);
    const int64_t samples = elements / axes, sizes[3] = {1, samples, axes};
    const bool is_float = nuc_json_word(description, "type", types, 0) == 1;
    const struct nuc_meta meta = nuc_meta_make(is_float ? NUC_F32 : NUC_I16, sizes, 3);
    const int64_t last = f->wanted.rank > 0 ? f->wanted.sizes[f->wanted.rank - 1] : 1;
    float mean[MOST_AXES], scale[MOST_AXES];
    bool is_moved = false, is_scaled = false;

    nuc_json_only(description, keys);
    if (elements % axes != 0 || (last != axes && last != samples))
        nuc_front_end_misfit(f, description, nuc_format(f->g->cx, "points of time of %lld axes", (long long)axes));
    nuc_front_end_int(description, "step", 1, samples, samples);
    read_numbers(description, "mean", -1e9, 0, axes, mean);
    read_numbers(description, "std", 1e-9, 1, axes, scale);
    for (int64_t i = 0; i < axes; i++) {
        is_moved |= mean[i] < 0 || mean[i] > 0;
        is_scaled |= scale[i] < 1 || scale[i] > 1;
        scale[i] = 1 / scale[i];
    }
    struct nuc_node *value = nuc_front_end_input(f, "samples", &meta);
    value = nuc_insert_cast(f->g, f->before, value, NUC_F32);
    if (is_moved)
        value = in_float(f, NUC_OP_SUB, value, mean, axes);
    if (is_scaled)
        value = in_float(f, NUC_OP_MUL, value, scale, axes);
    return last == axes ? value
                        : nuc_insert_unary(f->g, f->before, NUC_OP_CONTIGUOUS,
                                           nuc_insert_permuted(f->g, f->before, value, (const int64_t[]){0, 2, 1}));
}
