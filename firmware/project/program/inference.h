/* Made by nucleon codegen. A program as main.c sees it: inference_c.c and inference_pte.c, of which one is linked. */
#ifndef INFERENCE_H
#define INFERENCE_H

#include "@NAME@.h"

#define N_INPUTS @INPUTS@
#define N_OUTPUTS @OUTPUTS@
#define STATES_BYTES @STATES_BYTES@ /* of what the program keeps from one inference to the next; 0: nothing */

struct tensor {
    void *data;
    size_t bytes; /* element type, shape and order in memory: @NAME@.h */
};

/* Once. After a failure `detail` says why. */
enum nuc_status inference_load(struct nuc_detail *detail);

/* Where input `index` is written before each inference, for its memory is reused. */
struct tensor inference_input(size_t index);

enum nuc_status inference_run(struct nuc_detail *detail);

/* The next inference begins a sequence: states have their initial values, as after inference_load(). */
void inference_reset(void);

/*
 * The content of the states, STATES_BYTES: saved after an inference and restored before another one, it goes on there.
 * Several streams have a copy each; one that is stored goes on when the power is back.
 */
void inference_save(void *to);
void inference_restore(const void *from);

#ifdef @UPPER@_FOUND
/* What the last inference has found (nucleon/decision.h); NULL: nothing was decided. */
const struct nuc_decider *inference_decide(void);
#endif

/* The result, valid until the next input is written. */
struct tensor inference_output(size_t index);

#endif
