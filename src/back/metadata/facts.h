/*
 * What a program says about its data, for tools on the host: names of inputs and outputs, the range of each input in
 * calibration, names of classes, how images were prepared. A JSON text under the key "nucleon" of the program's named
 * data, which runtimes do not look at (docs/formats.md, "Facts").
 */
#ifndef NUC_BACK_METADATA_FACTS_H
#define NUC_BACK_METADATA_FACTS_H

#include <jansson.h>

#include "back/program_view/program_view.h"
#include "device/base/span.h"
#include "host/context.h"

#define NUC_FACTS_KEY "nucleon"

struct nuc_facts_of_input {
    const char *name;   /* NULL: not known, as all that follows may be */
    double least, most; /* of the values in calibration; NaN: not known */
};

struct nuc_facts_of_output {
    const char *name;
    size_t n_classes;           /* 0: not known */
    const char *const *classes; /* names, by class index */
};

/* The words of enum nuc_resize, in its order; NULL ends them. */
extern const char *const nuc_resize_words[];

/* Calibration was with images: (pixel / 255 - mean) / std, a number for each channel. */
struct nuc_facts_of_images {
    size_t n_mean, n_std; /* 1 or 3 */
    double mean[3], std[3];
    int resize; /* enum nuc_resize */
};

struct nuc_program_facts {
    size_t n_inputs, n_outputs;
    struct nuc_facts_of_input *inputs;
    struct nuc_facts_of_output *outputs;
    size_t n_images; /* 0: calibration was not with images, or 1 */
    struct nuc_facts_of_images *images;
};

/* As many inputs and outputs as the program has, nothing known of them. */
struct nuc_program_facts *nuc_facts_new(struct nuc_context *cx, size_t n_inputs, size_t n_outputs);

/* Members of an object. */
void nuc_facts_put(struct nuc_context *cx, const struct nuc_program_facts *facts, json_t *to);

/* The text; the same facts give the same bytes. */
struct nuc_span nuc_facts_write(struct nuc_context *cx, const struct nuc_program_facts *facts);

/*
 * Reads untrusted text, of at most NUC_FACTS_MAX bytes. NULL when it is not of this schema or says what cannot be; then
 * *why is the reason, one line. Members it does not know are left alone.
 */
#define NUC_FACTS_MAX ((size_t)1 << 20)
const struct nuc_program_facts *nuc_facts_read(struct nuc_context *cx, struct nuc_span text, const char **why);

/* Those of a program; NULL without a reason when it has none. */
const struct nuc_program_facts *nuc_facts_of_program(struct nuc_context *cx, const struct nuc_program_view *program,
                                                     const char **why);

/*
 * The text itself where it is UTF-8 without control characters, else a copy with \xNN for bytes that are not printable
 * ASCII: what a file system calls a folder can be any bytes.
 */
const char *nuc_facts_text(struct nuc_context *cx, const char *text);

#endif
