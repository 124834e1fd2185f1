#include "front/sensor/front_end.h"

#include "data/metadata.h"
#include "front/sensor/sensor.h"
#include "ir/quant.h"
#include "rewrite/insert.h"

static const struct {
    const char *key;
    nuc_front_end_builder *build;
} kinds[] = {
    {"audio", nuc_build_audio},   {"image", nuc_build_image},   {"micro_frontend", nuc_build_micro},
    {"sensor", nuc_build_sensor}, {"values", nuc_build_values},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static struct nuc_node *only_input(struct nuc_graph *g, const char *name)
{
    struct nuc_node *input = NULL;
    size_t count = 0;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_user_input(n))
            continue;
        input = n;
        count++;
    }
    if (count != 1)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s: the model has %zu inputs, a front end makes the only one", g->file,
                 name, count);
    return input;
}

static bool quantization_of(const struct nuc_node *input, struct nuc_quant *q)
{
    for (uint32_t i = 0; i < input->n_users; i++) {
        if (nuc_is_dequantize(input->users[i]) && nuc_dequantize_quant(input->users[i], q))
            return true;
    }
    return false;
}

/* In the sizes and the type that the model reads. */
static struct nuc_node *as_wanted(struct nuc_front_end *f, struct nuc_node *value, bool is_image)
{
    struct nuc_graph *g = f->g;
    struct nuc_quant q;

    value = nuc_insert_reshaped(g, f->before, value, f->wanted.sizes, f->wanted.rank);
    if (is_image)
        value = nuc_insert_permuted(g, f->before, value, (const int64_t[]){0, 3, 1, 2});
    else if (!nuc_is_contiguous(&value->vals[0]))
        value = nuc_insert_unary(g, f->before, NUC_OP_CONTIGUOUS, value);
    if (f->wanted.dtype == NUC_F32)
        return value;
    if (!quantization_of(f->input, &q))
        nuc_fail(g->cx, NUC_UNSUPPORTED,
                 "%s: --front-end: the input '%s' is %s without a scale: float32 and int8 are "
                 "made",
                 g->file, f->input->name, nuc_dtype_name(f->wanted.dtype));
    return nuc_insert_quant(g, f->before, NUC_OP_QUANTIZE_PER_TENSOR, value, &q);
}

/* White space outside of texts goes. */
static const char *on_one_line(struct nuc_context *cx, const char *name, struct nuc_span file)
{
    char *text = nuc_alloc(cx, file.size + 1);
    size_t length = 0;
    bool in_text = false, escaped = false;

    for (size_t i = 0; i < file.size; i++) {
        const char c = (char)file.data[i];
        if (!in_text && (c == ' ' || c == '\t' || c == '\r' || c == '\n'))
            continue;
        in_text ^= c == '"' && !escaped;
        escaped = in_text && c == '\\' && !escaped;
        text[length++] = c;
    }
    if (length > NUC_FRONT_END_MAX)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: has %zu characters that are no white space, %d are the limit", name, length,
                 NUC_FRONT_END_MAX);
    return text;
}

const char *nuc_put_front_end(struct nuc_graph *g, const char *name, struct nuc_span text, bool is_image)
{
    const struct nuc_json root = nuc_json_parse(g->cx, name, text);
    const char *keys[N_KINDS + 1] = {NULL};
    int k;

    for (size_t i = 0; i < N_KINDS; i++)
        keys[i] = kinds[i].key;
    const struct nuc_json description = nuc_json_kind(&root, keys, &k);
    struct nuc_front_end f = {.g = g, .input = only_input(g, name), .before = g->body};
    f.wanted = f.input->vals[0];
    for (uint32_t d = 0; d < 4 && is_image; d++)
        f.wanted.sizes[d] = f.input->vals[0].sizes[(const uint32_t[]){0, 2, 3, 1}[d]];
    f.wanted = nuc_meta_make(f.wanted.dtype, f.wanted.sizes, f.wanted.rank);
    struct nuc_node *value = as_wanted(&f, kinds[k].build(&f, &description), is_image);
    nuc_replace_uses(g, f.input, value, NULL);
    nuc_remove_node(g, f.input);
    return on_one_line(g->cx, name, text);
}
