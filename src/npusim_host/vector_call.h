/* Calls prepared for the vector kernels, and what running them needs. */
#ifndef NUC_NPUSIM_HOST_VECTOR_CALL_H
#define NUC_NPUSIM_HOST_VECTOR_CALL_H

#include "npusim_host/vector.h"
#include "threads/threads.h"

/* A run of a window: its row of taps, and bytes from the first tap of the first output pixel's window. */
struct vec_tap {
    int32_t row, at;
};

/*
 * How rows of an image reach the kernels: where they lie, or copied to a ring of staged rows because columns are
 * padded, a run is read beyond its end, or pixels of a stride are to lie next to each other. A staged row has `split`
 * planes; plane p has the padded columns p, p + split, ... Rows outside the image are one row of zero points.
 */
struct vec_window {
    int32_t in_h, in_w, out_h, out_w;
    ptrdiff_t in_batch, in_row, out_row; /* bytes */
    int32_t stride_h, dilation_h, pad_top, pad_left;
    int32_t pixel, spread; /* bytes of an input pixel; copies of each in a staged row */
    ptrdiff_t in_pixel;    /* bytes from one input pixel to the next */
    int32_t split, padded_w;
    /* Columns of the image that are staged, those of a plane that has the most, and the last one whose plane has as
     * many; plane and pixel of the first. */
    int32_t inside, most, last, first_plane, first_at;
    size_t pitch, plane, slot; /* bytes of a staged pixel and what follows it, of a plane, of a staged row */
    int32_t ring;              /* staged rows; 0: rows are read in place */
    bool pairs;                /* what rows are: two rows of the image, the bytes of one between those of the other */
    bool turns;                /* such pixels, of few bytes, become those of two planes at once */
    int32_t before, image_h;   /* of pairs: rows of the first one that are above the image, and rows of the image */
    const struct vec_isa *isa;
    int8_t flip; /* bits that are turned in staged rows: those that add the kernels' offset */
    int32_t zero;
    int32_t n_taps, tap_rows; /* rows of the image that taps are of, `dilation_h` apart: at most VEC_MAX_TAPS */
    struct vec_tap *taps;
    ptrdiff_t *offsets; /* of taps, for each slot of the ring that a window may begin in */
};

struct vec_conv_plan {
    struct vec_window window;
    struct vec_gemm gemm;
    int32_t groups;
    int64_t rows;     /* of all batches; each row an independent job */
    int64_t pixels;   /* of all, read in place, each `gemm.pixel` after the one before; 0: there are rows of windows */
    int32_t sweep;    /* pixels that are computed at once: they stay in the second-level cache */
    int32_t group_in; /* bytes between groups, input and output */
    int32_t group_out;
    size_t group_weights;
    int32_t group_params;
    /* Of a phase of a transposed convolution, else 1 and 0: images, and bytes to where the first is read, written. */
    int64_t images;
    ptrdiff_t in_start, in_image, out_start, out_image;
};

struct vec_depthwise_plan {
    struct vec_window window;
    struct vec_depthwise depthwise;
    int64_t images;
};

struct vec_resize_plan {
    struct vec_positions rows; /* by row */
    struct vec_blend columns;
};

struct vec_product_plan {
    const int32_t *bias; /* as they are stored; NULL: 0 */
    const struct vec_params *params;
};

/* By a value's distance to the largest of its row. */
struct vec_softmax_plan {
    int32_t exponentials[256];
    uint32_t addends[256];
};

struct vec_call;

/* Runs a call. False: it is none of those the kernels take, and nothing was done. */
typedef bool vec_run(struct vec_call *c);

/* What a call becomes; NULL where plain C runs it. One block of memory, weights and tables included, per part. */
struct vec_plan {
    size_t scratch;        /* bytes that a thread needs */
    struct vec_plan *next; /* another part of the same call */
    vec_run *run;
    union {
        struct vec_conv_plan conv;
        struct vec_depthwise_plan depthwise;
        struct vec_product_plan product;
        struct vec_resize_plan resize;
        struct vec_binary binary;
        struct vec_softmax_plan softmax;
    } u;
};

#define VEC_MOST_SCRATCH ((uint64_t)1 << 26) /* bytes per thread */

/* Bytes of packed weights that all plans together may still have, and proofs over all operands of an addition. */
struct vec_budget {
    uint64_t left;
    uint32_t proofs;
};

/* NULL: the call is not one of those the kernels are valid for, or memory is short. */
typedef struct vec_plan *vec_planner(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                     struct vec_budget *budget);
vec_planner vec_plan_conv, vec_plan_depthwise, vec_plan_transposed, vec_plan_matmul, vec_plan_binary, vec_plan_softmax,
    vec_plan_resize;

/* Weights of a convolution: that of tap t is at `output` times its output and `tap` times (t times the depth and its
 * channel). pairs: of requantizations, one for each output, or 0 for all. */
struct vec_weights {
    const int8_t *at;
    int64_t output, tap;
    int32_t pairs;
};

/* A dense convolution. A bias that lies in no weights is 0. */
struct vec_plan *vec_plan_dense(const struct vec_isa *isa, const struct nuc_npu *npu, const struct nuc_mc_conv *c,
                                const struct vec_weights *w, struct vec_budget *budget);

/* Constants of a program; NULL for an operand that is something else, which does not exist yet. */
static inline const void *vec_constant(const struct nuc_npu *npu, struct nuc_mc_ref ref)
{
    return (ref.where & 0xFFu) == NUC_MC_WEIGHTS ? npu->weights + ref.offset : NULL;
}

/* An image of one pixel in width, as one of a pixel in height: a row of many pixels rather than rows of one. */
struct nuc_mc_conv vec_laid_flat(const struct nuc_mc_conv *c);

/* A zeroed plan with `extra` bytes after it, taken off the budget; *memory is where they are, aligned. */
struct vec_plan *vec_plan_new(struct vec_budget *budget, vec_run *run, uint64_t extra, uint8_t **memory);

/* With its other parts. `p` may be NULL. */
void vec_plan_free(struct vec_plan *p);

/*
 * Parameters of one output. bound: the largest |accumulator|. False when the kernels are not exact for them.
 * vec_params_close() follows when all lanes are set; bias: of the lanes, or NULL where a search for lines does not pay.
 */
bool vec_params_set(struct vec_params *p, int32_t lane, uint64_t bound, int32_t multiplier, int32_t shift);

/* The same for results that are packed from words. */
bool vec_params_set_word(struct vec_params *p, int32_t lane, uint64_t bound, int32_t multiplier, int32_t shift);
void vec_params_close(const struct vec_isa *isa, struct vec_params *p, const struct vec_output *o, int32_t *bias);

/*
 * Makes lanes, whose results are below VEC_WORD, those of VEC_LINE or VEC_BENT, and adds to the biases. False: nothing
 * is done.
 */
bool vec_params_bend(struct vec_params *p, const struct vec_output *o, int32_t *bias);

#define VEC_WORTH_LINES 8 /* results of an output: with fewer of them searching takes longer */

/* Sums of one output's weights, which decide about its bias and the bound of its accumulator. */
struct vec_sums {
    int64_t sum, absolute;
};

static inline void vec_sums_add(struct vec_sums *s, int8_t weight)
{
    s->sum += weight;
    s->absolute += weight < 0 ? -weight : weight;
}

/* Parameters and folded bias of an output whose stored inputs have the zero point `zero`. requant: pair of the output.
 */
bool vec_output_set(const struct vec_isa *isa, struct vec_params *p, int32_t lane, int32_t *folded, int32_t bias,
                    const struct vec_sums *s, int32_t zero, const int32_t *requant);

/* Geometry of a convolution before anything is known about staging. */
struct vec_window vec_conv_window(const struct vec_isa *isa, const struct nuc_mc_conv *c);

static inline struct vec_output vec_output_of(int32_t zero, int32_t low, int32_t high)
{
    return (struct vec_output){zero, (uint8_t)low * 0x01010101u, (uint8_t)high * 0x01010101u};
}

static inline int32_t vec_up(int32_t v, int32_t by)
{
    return (v + by - 1) / by;
}

/* Weight of a lane's product `k` in a group of four. */
void vec_weight_set(const struct vec_isa *isa, uint8_t *group, int32_t lane, int32_t k, int8_t weight);

/* Sizes of staged rows from the rest of the window. Returns bytes of scratch. */
uint64_t vec_window_measure(struct vec_window *w);

/* Bytes of the taps of a window, and of what vec_window_place() writes after them. */
uint64_t vec_window_taps(const struct vec_window *w);

/* The offsets of the taps, when the window is as it runs. */
void vec_window_place(struct vec_window *w);

/* ---- running ---- */

/* Progress of one thread through the rows of an image. */
struct vec_cursor {
    const struct vec_window *window;
    const int8_t *input;
    int8_t *slots; /* the ring, then the row of zero points */
    const int8_t *zeros;
    int64_t batch, next, slot; /* the image the ring has rows of, the first row not yet staged and its place */
};

void vec_cursor_start(struct vec_cursor *c, const struct vec_window *w, const int8_t *input, uint8_t *scratch);

/* First byte of each tap for output row `oy` of image `batch`. Rows are asked for in ascending order. */
void vec_cursor_row(struct vec_cursor *c, int64_t batch, int32_t oy, const int8_t **tap);

/* Where calls run: kernels, threads and a scratch block for each of them. */
struct vec_machine {
    const struct vec_isa *isa;
    struct nuc_threads *threads;
    uint8_t *scratch;
    size_t scratch_size; /* bytes per thread */
    int64_t least;       /* steps of a call that is split */
};

/*
 * Work is measured in steps, roughly what an instruction on 64 bytes takes: VEC_STEPS_SPLIT of them pay for handing
 * half to a thread that is awake, and a program of VEC_STEPS_PROGRAM for waking it.
 */
#define VEC_STEPS_SPLIT 4000
#define VEC_STEPS_PROGRAM 120000
#define VEC_STEPS_GRAIN 500 /* of a piece: what beginning one takes is little beside it */
#define VEC_STEPS_REQUANT 8 /* of 16 outputs */
#define VEC_STEPS_MIX 8     /* of four taps of 64 outputs, products included */
#define VEC_STEPS_BINARY 16 /* of 16 outputs */
#define VEC_STEPS_SCALE 4   /* of 16 outputs */
#define VEC_STEPS_LOOKUP 8  /* of 64 values */
#define VEC_STEPS_BLEND 4   /* of 16 values, in rows or in columns */

/*
 * The linear function that gives the bytes of an addition or subtraction whose operands do not saturate, proven for all
 * pairs of them. False: none was found. Takes a fraction of a millisecond.
 */
bool vec_sum_is_linear(struct vec_linear *l, const struct nuc_mc_binary *e);

/* The same of a product, for each byte of the operand that is shared. */
bool vec_product_is_lines(struct vec_lines *l, const struct nuc_mc_binary *e);

/* Steps of a planned convolution, dense or depthwise; 0 for others, which are small beside them. */
int64_t vec_plan_steps(const struct vec_plan *p);

/* Threads where `n` times `each` steps are worth it. */
void vec_share(const struct vec_machine *v, nuc_thread_work work, void *arg, int64_t n, int64_t each);

/* A call that runs; what its threads work on. */
struct vec_call {
    const struct vec_machine *v;
    const struct vec_plan *plan; /* NULL: it needs none */
    const struct nuc_npu_memory *m;
    const union nuc_mc_record *r;
    const int8_t *in, *other; /* operands */
    int8_t *out;
};

vec_run vec_run_conv, vec_run_depthwise, vec_run_product, vec_run_binary, vec_run_softmax, vec_run_resize;

/* Of calls without a plan. */
vec_run vec_run_pool, vec_run_reduce, vec_run_gather, vec_run_copy, vec_run_table;

/* In place, over the rows of a call's result. */
void vec_run_last_table(const struct vec_machine *v, const struct nuc_mc_result *result, const int8_t *table,
                        int8_t *out);

#endif
