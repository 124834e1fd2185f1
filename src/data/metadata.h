/*
 * What a program says about its data, for tools on the host: names of inputs and outputs, the range of each input in
 * calibration, names of classes, how images were prepared. A JSON text under the key "nucleon" of the program's named
 * data, which runtimes do not look at (docs/formats.md, "Facts").
 */
#ifndef NUC_DATA_METADATA_H
#define NUC_DATA_METADATA_H

#include <jansson.h>

#include "archive/program_view.h"
#include "device/base/span.h"
#include "host/context.h"

#define NUC_METADATA_KEY "nucleon"

struct nuc_input_metadata {
    const char *name;   /* NULL: not known, as all that follows may be */
    double least, most; /* of the values in calibration; NaN: not known */
};

struct nuc_output_metadata {
    const char *name;
    const char *key;            /* the model's own name of it, a key of what it returns; NULL: it gives none */
    size_t n_classes;           /* 0: not known */
    const char *const *classes; /* names, by class index */
};

/* The words of enum nuc_resize, in its order; NULL ends them. */
extern const char *const nuc_resize_words[];

/* Calibration was with images: (pixel / 255 - mean) / std, a number for each channel. */
struct nuc_image_metadata {
    size_t n_mean, n_std; /* 1 or 3 */
    double mean[3], std[3];
    int resize; /* enum nuc_resize */
};

/* The samples of calibration: what other data have in common with them shows. */
#define NUC_MOST_MARKS 3
struct nuc_calibration_metadata {
    size_t n_marks;
    double marks[NUC_MOST_MARKS]; /* the smallest of nuc_sample_mark() */
};

/* Where something lies, of a program whose memory is split over banks: planned memories first, in their order. */
enum nuc_memory_holds { NUC_HOLDS_PLANNED, NUC_HOLDS_TEMPORARY, NUC_HOLDS_WEIGHTS };
struct nuc_memory_metadata {
    const char *name; /* of the bank */
    double bytes;     /* that it has; NaN: not said */
    int holds;        /* enum nuc_memory_holds */
};

/* What makes the model's input of the program's: the text of --front-end, which front/sensor reads. */
#define NUC_FRONT_END_MAX 1024
struct nuc_front_end_metadata {
    const char *text;
};

struct nuc_decision_rule;

/* The chip that a program is for, where its CPU or NPU are not those of the default one. */
struct nuc_target_metadata {
    const char *name;
    const char *cpu; /* whose kernels it calls: "Cortex-M55"; NULL: float ones */
};

struct nuc_metadata {
    size_t n_inputs, n_outputs;
    struct nuc_input_metadata *inputs;
    struct nuc_output_metadata *outputs;
    size_t n_images; /* 0: calibration was not with images, or 1 */
    struct nuc_image_metadata *images;
    size_t n_calibration; /* 0: nothing is known of them, or 1 */
    struct nuc_calibration_metadata *calibration;
    size_t n_front_ends; /* 0: the model's input is the program's, or 1 */
    struct nuc_front_end_metadata *front_ends;
    size_t n_memories; /* 0: nothing is said */
    struct nuc_memory_metadata *memories;
    const struct nuc_decision_rule *decision; /* what the outputs mean; NULL: not said (data/decision_json.h) */
    size_t n_target;                          /* 0: the default or not known, or 1 */
    struct nuc_target_metadata *target;
};

/* The name of the bank of planned memory `index`, or of what else is held (index 0); NULL: not said. */
const char *nuc_metadata_memory(const struct nuc_metadata *m, enum nuc_memory_holds holds, size_t index);

/* As many inputs and outputs as the program has, nothing known of them. */
struct nuc_metadata *nuc_metadata_new(struct nuc_context *cx, size_t n_inputs, size_t n_outputs);

/* Members of an object. */
void nuc_metadata_put(struct nuc_context *cx, const struct nuc_metadata *m, json_t *to);

/* The text; equal metadata give equal bytes. */
struct nuc_span nuc_metadata_write(struct nuc_context *cx, const struct nuc_metadata *m);

/*
 * Reads untrusted text, of at most NUC_METADATA_MAX bytes. NULL when it is not of this schema or says what cannot be;
 * then *why is the reason, one line. Members it does not know are left alone.
 */
#define NUC_METADATA_MAX ((size_t)1 << 20)
const struct nuc_metadata *nuc_metadata_read(struct nuc_context *cx, struct nuc_span text, const char **why);

/* Those that the program carries; NULL: none that can be read. */
const struct nuc_metadata *nuc_metadata_of(struct nuc_context *cx, const struct nuc_program_view *view);

/*
 * The text itself where it is UTF-8 without control characters, else a copy with \xNN for bytes that are not printable
 * ASCII: what a file system calls a folder can be any bytes.
 */
const char *nuc_metadata_text(struct nuc_context *cx, const char *text);

#endif
