#include "front/sensor/sensor.h"

#include "data/images/camera.h"
#include "ir/args.h"
#include "rewrite/insert.h"

int64_t nuc_front_end_int(const struct nuc_json *object, const char *key, int64_t least, int64_t most, int64_t absent)
{
    const struct nuc_json j = nuc_json_optional(object, key);
    const int64_t value = nuc_json_is_there(&j) ? nuc_json_int(&j) : absent;

    if (nuc_json_is_there(&j) && (value < least || value > most))
        nuc_json_fail(&j, NUC_BAD_INPUT, "is %lld: %lld to %lld are taken", (long long)value, (long long)least,
                      (long long)most);
    return value;
}

double nuc_front_end_real(const struct nuc_json *object, const char *key, double least, double most, double absent)
{
    const struct nuc_json j = nuc_json_optional(object, key);
    const double value = nuc_json_is_there(&j) ? nuc_json_double(&j) : absent;

    if (nuc_json_is_there(&j) && !(value >= least && value <= most))
        nuc_json_fail(&j, NUC_BAD_INPUT, "is %.9g: %.9g to %.9g are taken", value, least, most);
    return value;
}

bool nuc_front_end_flag(const struct nuc_json *object, const char *key, bool absent)
{
    const struct nuc_json j = nuc_json_optional(object, key);

    return nuc_json_is_there(&j) ? nuc_json_bool(&j) : absent;
}

void nuc_front_end_misfit(const struct nuc_front_end *f, const struct nuc_json *description, const char *makes)
{
    nuc_json_fail(description, NUC_BAD_INPUT, "makes %s, and the input '%s' of %s is %s: give what it was trained with",
                  makes, f->input->name, f->g->file, nuc_meta_text(f->g->cx, &f->wanted));
}

struct nuc_node *nuc_front_end_input(struct nuc_front_end *f, const char *name, const struct nuc_meta *meta)
{
    struct nuc_node *input = nuc_add_placeholder(f->g, name, NUC_USER_INPUT, meta);

    input->source = f->input->source;
    return input;
}

/* ---- "values" ---- */

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

/* ---- "image" ---- */

/* Where the input has its channels: innermost, or in front of rows and columns. */
static uint32_t channel_dim(const struct nuc_front_end *f, const struct nuc_json *description,
                            const struct nuc_camera *camera)
{
    const struct nuc_meta *m = &f->wanted;
    const int64_t channels = camera->channels == NUC_CHANNELS_GREY ? 1 : 3;
    const bool is_one = (m->rank == 3 || (m->rank == 4 && m->sizes[0] == 1));

    if (is_one && m->sizes[m->rank - 3] == channels)
        return m->rank - 3u;
    if (!is_one || m->sizes[m->rank - 1] != channels)
        nuc_front_end_misfit(f, description, channels == 1 ? "one image of 1 channel" : "one image of 3 channels");
    return m->rank - 1u;
}

static struct nuc_arg taps_arg(struct nuc_front_end *f, const char *name, const struct nuc_frame_taps *taps)
{
    const int64_t sizes[2] = {(int64_t)taps->count, (int64_t)taps->stride};
    const struct nuc_meta meta = nuc_meta_make(NUC_I32, sizes, 2);

    return nuc_node_arg(nuc_add_constant(f->g, name, &meta, taps->words));
}

struct nuc_node *nuc_build_image(struct nuc_front_end *f, const struct nuc_json *description)
{
    const struct nuc_camera *camera = nuc_camera_read(description);
    const uint32_t channels = channel_dim(f, description, camera), rank = f->wanted.rank;
    const uint32_t rows = channels == rank - 1 ? rank - 3 : rank - 2;
    const struct nuc_camera_input input = {.width = (uint32_t)f->wanted.sizes[rows + 1],
                                           .height = (uint32_t)f->wanted.sizes[rows]};
    const int64_t bytes = (int64_t)nuc_camera_bytes(camera);
    const struct nuc_meta frame = nuc_meta_make(NUC_U8, &bytes, 1);

    if (f->wanted.sizes[rows] > NUC_FRAME_LONGEST || f->wanted.sizes[rows + 1] > NUC_FRAME_LONGEST)
        nuc_front_end_misfit(f, description, "images of at most 16384 rows and columns");
    const struct nuc_frame_input *p = nuc_camera_prepare(f->g->cx, camera, &input);
    const int64_t table_sizes[2] = {p->one_table ? 1 : f->wanted.sizes[channels], 256};
    const struct nuc_meta table = nuc_meta_make(NUC_F32, table_sizes, 2);
    const int64_t numbers[] = {camera->pixels, camera->channels, camera->width, camera->height, rank, channels};
    const struct nuc_arg x = nuc_node_arg(nuc_front_end_input(f, "frame", &frame));
    const struct nuc_arg of_columns = taps_arg(f, "columns", &p->columns), of_rows = taps_arg(f, "rows", &p->rows);
    const struct nuc_arg values = nuc_node_arg(nuc_add_constant(f->g, "values", &table, p->table));

    return nuc_emit(f->g, f->before, NUC_OP_PREPARE_FRAME, f->before,
                    NUC_ARGS(x, of_columns, of_rows, values, nuc_ints_arg(numbers, sizeof numbers / sizeof *numbers)));
}
