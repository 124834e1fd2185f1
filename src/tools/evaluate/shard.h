/* What the JSON of a shard holds beyond that of an evaluation: written by shard.c, read by shard_read.c. */
#ifndef NUC_TOOLS_EVALUATE_SHARD_H
#define NUC_TOOLS_EVALUATE_SHARD_H

#include "archive/json.h"
#include "tools/evaluate/scored_output.h"

/* What shards of one evaluation have in common, as texts; NULL: there is none. */
enum nuc_shared {
    NUC_SHARED_VERSION,
    NUC_SHARED_PROGRAM, /* prints of contents, up to the data set's */
    NUC_SHARED_REFERENCE,
    NUC_SHARED_QUANTIZED,
    NUC_SHARED_DATA,
    NUC_SHARED_TARGET, /* options from here on */
    NUC_SHARED_TASK,
    NUC_SHARED_CLASS_AXIS,
    NUC_SHARED_IGNORE_LABEL,
    NUC_SHARED_DISAGREEMENTS,
    NUC_SHARED_MEAN,
    NUC_SHARED_STD,
    NUC_SHARED_RESIZE,
    NUC_SHARED_UNLIKE_CALIBRATION,
    NUC_N_SHARED
};

struct nuc_shared_row {
    const char *key;  /* in the JSON */
    const char *what; /* "program", or the option */
};
extern const struct nuc_shared_row nuc_shared_rows[NUC_N_SHARED];

struct nuc_evaluation_origin {
    size_t n_samples; /* of all shards */
    const char *path; /* of the data set, as it was given */
    const char *shared[NUC_N_SHARED];
    const struct nuc_decision_scoring *decisions; /* of the shard's samples; NULL: there are none */
    size_t n_decided;                             /* samples of the shard */
};

/* Counts of a deviation. */
extern const struct nuc_member nuc_deviation_counts[];
extern const size_t nuc_n_deviation_counts;

/* More machines than anybody has; a list of as many shards is small. */
#define NUC_MAX_SHARDS ((size_t)1 << 20)

/* ---- decisions (decision_score.c): what was found and what is labelled, which is scored once it is together ---- */

void nuc_put_decision_marks(struct nuc_context *cx, json_t *shard, const struct nuc_evaluation *e);
const struct nuc_decision_scoring *nuc_read_decision_marks(const struct nuc_json *shard, const char *kind,
                                                           bool has_reference, size_t first, size_t n);
void nuc_score_decision_shards(struct nuc_context *cx, const struct nuc_decision_scoring *const *shards, size_t count,
                               struct nuc_evaluation *e);

/* ---- reading (shard_read.c): fail when something is not as it is written ---- */

size_t nuc_read_count(const struct nuc_json *object, const char *key);

/* A copy of a text, or of one that may be null. */
const char *nuc_read_text(const struct nuc_json *object, const char *key);
const char *nuc_read_text_or_null(const struct nuc_json *object, const char *key);

void nuc_read_deviation(const struct nuc_json *object, const char *key, struct nuc_deviation *out);

/* Sums of one value, of the sizes that it says. */
void nuc_read_channels(const struct nuc_json *object, const char *key, struct nuc_channel_sums *out);

/* `outputs` holds an output of an evaluation, `sums` what belongs to it in the shard. */
void nuc_read_output(const struct nuc_json *output, bool has_reference, struct nuc_output_score *out);
void nuc_read_tally(const struct nuc_json *classes, const struct nuc_json *sums, const char *key, size_t n_classes,
                    struct nuc_tally *out);

#endif
