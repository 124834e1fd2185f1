/* What generated C says of inputs and outputs, and what it decides by them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "data/decision_json.h"
#include "tools/codegen/codegen_program.h"

/* ---- constants ---- */

static bool number(const struct nuc_codegen *g, bool input, uint32_t i, const char *what, double *out)
{
    const char *name = nuc_format(g->cx, "%s%u_%s", input ? "input" : "output", i, what);

    return nuc_program_number(g->image.data, g->image.size, name, out, NULL) == NUC_OK;
}

/* Scale and zero point where the program states them. */
static bool quantization(const struct nuc_codegen *g, bool input, uint32_t i, double *scale, double *zero_point)
{
    return number(g, input, i, "scale", scale) && number(g, input, i, "zp", zero_point) && *scale > 0 &&
           *scale <= (double)FLT_MAX && fabs(*zero_point) <= 32768;
}

/* A text in C: what is no plain character stands in octal digits, which end where three of them do. */
static void add_string(struct nuc_text *out, const char *text)
{
    nuc_text_addf(out, "\"");
    for (const char *p = text; *p != '\0'; p++)
        nuc_text_addf(out, *p < ' ' || *p > '~' || strchr("\"\\?", *p) != NULL ? "\\%03o" : "%c", (unsigned char)*p);
    nuc_text_addf(out, "\"");
}

void nuc_codegen_facts(const struct nuc_codegen *g, struct nuc_text *out, bool input, uint32_t i,
                       const struct nuc_tensor *t)
{
    const char *macro = nuc_format(g->cx, "%s_%s%u", g->upper, input ? "INPUT" : "OUTPUT", i);
    const struct nuc_metadata *m = g->metadata;
    double scale, zero_point;

    nuc_text_addf(out,
                  "#define %1$s_BYTES %2$zu\n#define %1$s_ELEMENTS %3$zu\n#define %1$s_RANK %4$u\n#define %1$s_SHAPE {",
                  macro, t->bytes, t->bytes / nuc_dtype_size((enum nuc_dtype)t->dtype), (unsigned)t->rank);
    for (uint32_t d = 0; d < t->rank; d++)
        nuc_text_addf(out, "%s%d", d == 0 ? "" : ", ", (int)t->sizes[d]);
    nuc_text_addf(out, "%s}\n", t->rank == 0 ? "0" : "");
    if (quantization(g, input, i, &scale, &zero_point))
        nuc_text_addf(out,
                      "/* Real value = (q - zero point) * scale. */\n#define %s_SCALE %s\n#define %s_ZERO_POINT (%d)\n",
                      macro, nuc_c_float(g->cx, (double)(float)scale), macro, (int)zero_point);
    if (m != NULL && input && i < m->n_inputs && m->inputs[i].least <= m->inputs[i].most)
        nuc_text_addf(out, "/* Real values in calibration. */\n#define %s_LEAST %s\n#define %s_MOST %s\n", macro,
                      nuc_c_float(g->cx, m->inputs[i].least), macro, nuc_c_float(g->cx, m->inputs[i].most));
    if (m != NULL && !input && i < m->n_outputs) {
        const struct nuc_output_metadata *o = &m->outputs[i];
        if (o->n_classes == 0)
            return;
        nuc_text_addf(out, "#define %s_CLASSES %zu\n#define %s_CLASS_NAMES {", macro, o->n_classes, macro);
        for (size_t k = 0; k < o->n_classes; k++) {
            nuc_text_addf(out, k == 0 ? "" : k % 8 == 0 ? ", \\\n    " : ", ");
            add_string(out, o->classes[k]);
        }
        nuc_text_addf(out, "}\n");
    }
}

static void add_channels(const struct nuc_codegen *g, struct nuc_text *out, const char *name, const double *of,
                         size_t n)
{
    nuc_text_addf(out, "#define %s_IMAGE_%s {", g->upper, name);
    for (size_t i = 0; i < n; i++)
        nuc_text_addf(out, "%s%s", i == 0 ? "" : ", ", nuc_c_float(g->cx, of[i]));
    nuc_text_addf(out, "}\n");
}

void nuc_codegen_preparation(const struct nuc_codegen *g, struct nuc_text *out)
{
    if (g->metadata != NULL && g->metadata->n_front_ends > 0) {
        nuc_text_addf(out,
                      "/* What the program makes the network's input of, from the samples in input 0. */\n"
                      "#define %s_FRONT_END \\\n    ",
                      g->upper);
        add_string(out, g->metadata->front_ends->text);
        nuc_text_addf(out, "\n\n");
    }
    if (g->metadata == NULL || g->metadata->n_images == 0)
        return;
    const struct nuc_image_metadata *images = g->metadata->images;
    nuc_text_addf(out, "/* Images in calibration: real value = (pixel / 255 - mean) / std, resized: %s. */\n",
                  nuc_resize_words[images->resize]);
    add_channels(g, out, "MEAN", images->mean, images->n_mean);
    add_channels(g, out, "STD", images->std, images->n_std);
    nuc_text_addf(out, "\n");
}

/* ---- decisions ---- */

static enum nuc_dtype input_type(const struct nuc_codegen *g)
{
    return (enum nuc_dtype)g->values[nuc_view_int(g->method->inputs, 0)].u.tensor.dtype;
}

/*
 * Samples of a sensor are pushed where there is one input, which is a stream's, or where decisions are over time: real
 * values, or int16 as they come for a front end.
 */
bool nuc_codegen_is_pushed(const struct nuc_codegen *g)
{
    const struct nuc_decision_rule *d = g->decision;

    if (g->method->inputs.count != 1)
        return false;
    const enum nuc_dtype type = input_type(g);
    double scale, zero_point;
    const bool over_time = d != NULL && (d->kind == NUC_DECIDE_CLASSES || d->kind == NUC_DECIDE_ANOMALY);
    const bool has_scale = quantization(g, true, 0, &scale, &zero_point);
    const bool fits = type == NUC_F32 || (type == NUC_I8 && has_scale) || (type == NUC_I16 && !has_scale);

    return (g->n_states > 0 || over_time) && g->values[nuc_view_int(g->method->inputs, 0)].u.tensor.bytes > 0 && fits;
}

static const char *pushed_type(const struct nuc_codegen *g)
{
    return input_type(g) == NUC_I16 ? "int16_t" : "float";
}

void nuc_codegen_decision_header(const struct nuc_codegen *g, struct nuc_text *out)
{
    const struct nuc_decision_rule *d = g->decision;

    nuc_codegen_preparation(g, out);
    if (g->is_pushed)
        nuc_text_addf(out,
                      "/*\n * Takes %4$s of input 0, in their order in memory, from a sensor: `*samples` and `*count` "
                      "move past those\n * taken. True: the input was full and an inference has run, and there may be "
                      "samples left; false: all are taken.\n *\n *     while (%1$s_push(&samples, &count))\n *         "
                      "... look at the %2$s ...\n *\n * %1$s_pushed() is the status of the last inference.\n */\n"
                      "bool %1$s_push(const %3$s **samples, size_t *count);\nenum nuc_status %1$s_pushed(void);\n\n",
                      g->name, d != NULL ? "decision" : "outputs", pushed_type(g),
                      input_type(g) == NUC_I16 ? "samples" : "real values");
    if (d == NULL)
        return;
    nuc_text_addf(
        out,
        "/* What the outputs mean: %1$s (nucleon/decision.h). */\n"
        "extern const struct nuc_decision_rule %2$s_decision;\n#define %3$s_FOUND %4$zu /* at most */\n\n"
        "/*\n * Decides once on the last inference, whose outputs have to be there; NULL: there was none, or it "
        "failed.\n * The result is valid until the next inference; %2$s_load()%5$s begins a sequence of "
        "decisions.\n */\nconst struct nuc_decider *%2$s_decide(void);\n\n",
        nuc_decision_kind_name(d->kind), g->name, g->upper, nuc_decision_found(d),
        g->n_states > 0 ? nuc_format(g->cx, " and %s_reset()", g->name) : "");
}

static void add_member(void *user, const char *name, const char *value)
{
    nuc_text_addf(user, "    .%s = %s,\n", name, value);
}

static void add_anchors(const struct nuc_decision_rule *d, struct nuc_text *out)
{
    const size_t n = nuc_decision_anchor_floats(d);

    if (n > 0) {
        nuc_text_addf(out, "static const float anchors[] = {");
        for (size_t i = 0; i < n; i++)
            nuc_text_addf(out, "%s%s,", i % 8 == 0 ? "\n    " : " ", nuc_c_float(out->cx, (double)d->anchors[i]));
        nuc_text_addf(out, "\n};\n");
    }
    if (d->n_grids == 0)
        return;
    nuc_text_addf(out, "static const struct nuc_anchor_grid grids[] = {\n");
    for (size_t i = 0; i < d->n_grids; i++)
        nuc_text_addf(out, "    {%u, %u, %u, %u},\n", (unsigned)d->grids[i].rows, (unsigned)d->grids[i].columns,
                      (unsigned)d->grids[i].first, (unsigned)d->grids[i].count);
    nuc_text_addf(out, "};\n");
}

static void add_rule(const struct nuc_codegen *g, struct nuc_text *out)
{
    static const char *const kinds[] = {"NUC_DECIDE_CLASSES", "NUC_DECIDE_BOXES", "NUC_DECIDE_KEYPOINTS",
                                        "NUC_DECIDE_ANOMALY"};
    static const char *const types[] = {
        [NUC_F32] = "NUC_F32", [NUC_I8] = "NUC_I8", [NUC_U8] = "NUC_U8", [NUC_I16] = "NUC_I16"};
    const struct nuc_decision_rule *d = g->decision;
    const bool has_anchors = d->anchors != NULL || d->n_grids > 0;

    nuc_text_addf(out, "\n/* ---- decisions ---- */\n\n");
    if (has_anchors)
        add_anchors(d, out);
    nuc_text_addf(out,
                  "const struct nuc_decision_rule %s_decision = {\n    .kind = %s,\n    .n_views = %u,\n    .views = {",
                  g->name, kinds[d->kind], (unsigned)d->n_views);
    for (size_t i = 0; i < d->n_views; i++) {
        const struct nuc_decision_view *v = &d->views[i];
        nuc_text_addf(out,
                      "%s{.output = %u, .places = %u, .values = %u, .place_step = %u, .value_step = %u,\n"
                      "               .dtype = %s, .scale = %s, .zero_point = %d}",
                      i == 0 ? "" : ",\n              ", (unsigned)v->output, (unsigned)v->places, (unsigned)v->values,
                      (unsigned)v->place_step, (unsigned)v->value_step, types[v->dtype],
                      nuc_c_float(g->cx, (double)v->scale), (int)v->zero_point);
    }
    nuc_text_addf(out, "},\n");
    nuc_decision_each(d, add_member, g->cx, out);
    if (d->n_ignored > 0)
        nuc_text_addf(out, "    .n_ignored = %u,\n    .ignored = {", (unsigned)d->n_ignored);
    for (size_t i = 0; i < d->n_ignored; i++)
        nuc_text_addf(out, "%s%u", i == 0 ? "" : ", ", (unsigned)d->ignored[i]);
    nuc_text_addf(out, "%s", d->n_ignored > 0 ? "},\n" : "");
    if (d->n_grids > 0)
        nuc_text_addf(out, "    .n_grids = %u,\n    .grids = grids,\n", (unsigned)d->n_grids);
    nuc_text_addf(out, "%s};\n\n", has_anchors && nuc_decision_anchor_floats(d) > 0 ? "    .anchors = anchors,\n" : "");
}

/* State that load, reset and run refer to; ahead of them. */
void nuc_codegen_decision_state(const struct nuc_codegen *g, struct nuc_text *out)
{
    const struct nuc_decision_rule *d = g->decision;

    if (d != NULL) {
        const size_t history = nuc_decision_history(d);
        add_rule(g, out);
        nuc_text_addf(out, "static struct nuc_found found[%s_FOUND];\n", g->upper);
        if (history > 0)
            nuc_text_addf(out, "static float history[%zu];\n", history);
        nuc_text_addf(
            out,
            "static struct nuc_decider decider;\nstatic bool has_run, has_decided; /* the last inference */\n\n"
            "static void begin_decisions(void)\n{\n"
            "    nuc_decider_init(&decider, &%s_decision, found, sizeof found / sizeof found[0], %s);\n"
            "    has_run = has_decided = false;\n}\n\n",
            g->name, history > 0 ? "history, sizeof history / sizeof history[0]" : "NULL, 0");
    }
    if (g->is_pushed)
        nuc_text_addf(out, "static size_t n_pushed;\nstatic enum nuc_status pushed_status;\n\n");
}

void nuc_codegen_decision_source(const struct nuc_codegen *g, struct nuc_text *out)
{
    if (g->decision != NULL) {
        nuc_text_addf(out,
                      "\nconst struct nuc_decider *%s_decide(void)\n{\n    const void *outputs[%u];\n\n"
                      "    if (!has_run)\n        return NULL;\n    if (has_decided)\n        return &decider;\n",
                      g->name, (unsigned)g->method->outputs.count);
        for (uint32_t i = 0; i < g->method->outputs.count; i++)
            nuc_text_addf(out, "    outputs[%u] = %s_output%u();\n", i, g->name, i);
        nuc_text_addf(out, "    has_decided = nuc_decider_run(&decider, outputs) == NUC_OK;\n"
                           "    return has_decided ? &decider : NULL;\n}\n");
    }
    if (g->is_pushed) {
        /* The input's own memory is used by others while an inference runs, but not between them. */
        const bool is_int8 = input_type(g) == NUC_I8;
        nuc_text_addf(out, "\nstatic %s pushed[%s_INPUT0_ELEMENTS];\n\n", is_int8 ? "int8_t" : pushed_type(g),
                      g->upper);
        if (is_int8)
            nuc_text_addf(
                out,
                "/* As nucleon run does it: to the nearest, half to even. */\nstatic int8_t quantized(float value)\n{\n"
                "    float q = rintf(value * (1.0f / %1$s_INPUT0_SCALE)) + %1$s_INPUT0_ZERO_POINT;\n\n"
                "    return q > 127 ? 127 : q > -128 ? (int8_t)q : -128;\n}\n\n",
                g->upper);
        nuc_text_addf(out,
                      "bool %1$s_push(const %5$s **samples, size_t *count)\n{\n"
                      "    while (*count > 0 && n_pushed < %2$s_INPUT0_ELEMENTS) {\n"
                      "        pushed[n_pushed++] = %3$s;\n        ++*samples;\n        --*count;\n    }\n"
                      "    if (n_pushed < %2$s_INPUT0_ELEMENTS)\n        return false;\n    n_pushed = 0;\n"
                      "    memcpy(%1$s_input0(), pushed, sizeof pushed);\n    pushed_status = %1$s_run(NULL);\n%4$s    "
                      "return true;\n}\n\n"
                      "enum nuc_status %1$s_pushed(void)\n{\n    return pushed_status;\n}\n",
                      g->name, g->upper, is_int8 ? "quantized(**samples)" : "**samples",
                      g->decision != NULL ? nuc_format(g->cx, "    %s_decide();\n", g->name) : "", pushed_type(g));
    }
}
