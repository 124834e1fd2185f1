/*
 * Decisions: what the numbers of a program's outputs mean. Boxes with non-maximum suppression, keypoints, classes
 * smoothed over time, and anomalies, in float32 from the outputs as they lie in the program's memory: the host and the
 * microcontroller compute the same bits. Freestanding, in memory of the caller, with bounded work.
 *
 *     nuc_decider_init(&decider, &decision, found, N_FOUND, history, N_HISTORY);
 *     ... after each inference: nuc_decider_run(&decider, outputs); decider.found[0 ... decider.n_found - 1] ...
 *
 * A struct nuc_decision_rule is a constant that nucleon codegen writes (docs/decisions.md), or what
 * nuc_program_decision() of runtime.h reads from a program.
 */
#ifndef NUCLEON_DECISION_H
#define NUCLEON_DECISION_H

#include <stdbool.h>

#include "nucleon/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nuc_decision_kind { NUC_DECIDE_CLASSES, NUC_DECIDE_BOXES, NUC_DECIDE_KEYPOINTS, NUC_DECIDE_ANOMALY };

/* What makes scores of an output's values. */
enum nuc_activation { NUC_SCORE_AS_IS, NUC_SCORE_SIGMOID, NUC_SCORE_SOFTMAX };

enum nuc_smoothing { NUC_SMOOTH_NONE, NUC_SMOOTH_EXPONENTIAL, NUC_SMOOTH_AVERAGE };

enum nuc_box_form {
    NUC_BOXES_SSD,   /* offsets to anchors, and scores of classes */
    NUC_BOXES_YOLO5, /* rows of a box, an objectness and classes */
    NUC_BOXES_YOLO8, /* rows of a box and classes */
    NUC_BOXES_FOMO,  /* a map of classes: centroids of its cells */
};

enum nuc_point_form { NUC_POINTS_HEATMAP, NUC_POINTS_COORDINATES };

enum nuc_anomaly_score { NUC_ANOMALY_MEAN, NUC_ANOMALY_MAX };

/* An output as `places` of `values` each, elements apart from each other; real value = (q - zero_point) * scale. */
struct nuc_decision_view {
    uint32_t output; /* of the program */
    uint32_t places, values, place_step, value_step;
    enum nuc_dtype dtype;
    float scale;
    int32_t zero_point;
};

/* An output as it lies in memory, which a view is made of. */
struct nuc_decision_output {
    const char *name;
    enum nuc_dtype dtype;
    size_t rank;
    const int64_t *sizes;
    const uint8_t *dim_order; /* NULL: in the order of the dimensions */
    double scale, zero_point;
};

/* Cells of an image with as many anchors each, whose sizes are pairs from `first` on. */
struct nuc_anchor_grid {
    uint32_t rows, columns, first, count;
};

#define NUC_DECISION_VIEWS 2
#define NUC_DECISION_OUTPUTS 32 /* decisions are of the first ones */
#define NUC_DECISION_IGNORED 16
#define NUC_DECISION_NOTHING (-1)

/* Members that a kind does not mention are not read. Lengths are fractions of the input. */
struct nuc_decision_rule {
    enum nuc_decision_kind kind;
    uint32_t n_views;
    struct nuc_decision_view views[NUC_DECISION_VIEWS];
    int32_t form;       /* enum nuc_box_form, nuc_point_form or nuc_anomaly_score */
    int32_t activation; /* enum nuc_activation */
    float threshold;

    /* Classes: an event begins when a smoothed score has been at the threshold for minimum_count steps, and ends when
     * it falls below `release`; none begins within refractory_steps of the one before. */
    int32_t smoothing; /* enum nuc_smoothing */
    float alpha;       /* exponential: weight of the newest score */
    uint32_t window;   /* average: of so many steps */
    float release;
    uint32_t minimum_count, refractory_steps;
    uint32_t n_ignored, ignored[NUC_DECISION_IGNORED]; /* classes that are no event */
    float step_seconds;                                /* between inferences; 0: not known */

    /* Boxes: the best class of each place; the best `candidates` are suppressed where they overlap by more than `iou`
     * with a better one. */
    float iou;
    uint32_t candidates, maximum;
    bool agnostic;          /* boxes of different classes suppress each other, too */
    bool has_background;    /* class 0 is no object */
    bool is_y_first;        /* SSD: y, x, h, w */
    bool is_exponential;    /* SSD: sizes are logarithms */
    bool is_decoded;        /* YOLO: rows are boxes, in units of 1 / input_size */
    float coding[4];        /* SSD: what x, y, w and h are divided by */
    float input_size[2];    /* width, height */
    uint32_t bins;          /* YOLO8 not decoded: of a distance */
    uint32_t rows, columns; /* of maps */
    uint32_t n_grids;       /* 0: `anchors` are x, y, w, h of each place */
    const struct nuc_anchor_grid *grids;
    const float *anchors;

    /* Keypoints. */
    uint32_t points;
    bool is_refined; /* heat maps: a quarter of a cell towards the higher neighbour */

    /* Anomaly: a score above the threshold, or NaN. */
    float quantile; /* of the calibration data that the threshold is; 0: it was given */
};

/*
 * What was found: a box by its upper left corner and size, a keypoint by its place, a class by its score. `label` is
 * the class, or the number of the keypoint.
 */
struct nuc_found {
    int32_t label;
    float score, x, y, w, h;
};

/* Decisions under way, and the result of the last call. Only the functions below change the members. */
struct nuc_decider {
    const struct nuc_decision_rule *decision;
    struct nuc_found *found; /* of boxes the best first; of classes the event that is under way */
    size_t n_found;
    bool is_new; /* something was found; of classes and anomalies: and the step before had not found it */
    float *history;
    uint32_t step, quiet; /* steps so far, and since the last event began */
    uint32_t streak;
    int32_t active, rising;
};

/* How many elements of found and of history a decision needs. */
size_t nuc_decision_found(const struct nuc_decision_rule *d);
size_t nuc_decision_history(const struct nuc_decision_rule *d);

/* How many floats `anchors` points to, where a decision has anchors. */
size_t nuc_decision_anchor_floats(const struct nuc_decision_rule *d);

/* How many classes labels are of, a background among them. 0: keypoints and anomalies have none. */
uint32_t nuc_decision_classes(const struct nuc_decision_rule *d);

/* NUC_NO_MEMORY: too few elements. */
enum nuc_status nuc_decider_init(struct nuc_decider *s, const struct nuc_decision_rule *d, struct nuc_found *found,
                                 size_t n_found, float *history, size_t n_history);

/* The next step is the first one of a sequence. */
void nuc_decider_reset(struct nuc_decider *s);

/* Decides on the outputs of an inference, by the program's indices. */
enum nuc_status nuc_decider_run(struct nuc_decider *s, const void *const *outputs);

#ifdef __cplusplus
}
#endif
#endif
