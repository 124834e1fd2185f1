/*
 * What tools learn of models and compilations beyond the public headers: names, figures, texts and JSON. These headers
 * show no graph and no stage, so that a tool stands on data alone. Memory is that of the model's compiler.
 */
#ifndef NUC_INTROSPECT_INTROSPECT_H
#define NUC_INTROSPECT_INTROSPECT_H

#include "nucleon/compile.h"

struct nuc_image_metadata;

/* ---- inputs and outputs of a model, by their index ---- */

struct nuc_input_facts {
    const char *name;                        /* what the user calls it */
    double least, most;                      /* of the calibration data; NaN: not known */
    const struct nuc_image_metadata *images; /* how they were prepared; NULL: it was arrays, or is not known */
};
struct nuc_input_facts nuc_input_facts(const struct nuc_model *m, size_t input);

struct nuc_output_facts {
    const char *name;       /* what the user calls it */
    bool has_channels_last; /* an image [N, H, W, C], as LiteRT models have them */
    bool has_softmax;       /* its last operator, but for views and casts */
    size_t axis;            /* of the softmax, in the output */
    bool is_index;          /* of an argmax or topk */
    bool has_sigmoid;       /* the last operator */
    bool is_map;            /* sigmoid or tanh: each element for itself */
    bool is_image;          /* a view of a tensor with two dimensions or more */
};
struct nuc_output_facts nuc_output_facts(const struct nuc_model *m, size_t output);

/* ---- two models ---- */

/* A hash of the graph and its constants, in digits. */
const char *nuc_model_print(const struct nuc_model *m);

/* The float model to prepare as it was before that quantized one was made of it: rows lose their mean alike. */
struct nuc_model *nuc_model_like(const struct nuc_model *quantized, struct nuc_model *floating);

/* A node of a quantized model, and the node of the float model that has the same value: all NULL when there is none. */
struct nuc_counterpart {
    const char *name, *label;
    const char *float_name, *op, *module; /* module: also NULL when it is not known */
};

/* One for each of the named nodes of the quantized model: matched by the call of the file, operator and shape. */
const struct nuc_counterpart *nuc_find_counterparts(const struct nuc_model *quantized, const struct nuc_model *floating,
                                                    const char *const *names, size_t count);

#endif
