/* Made by nucleon codegen. A program as main.c sees it: inference_c.c and inference_pte.c, of which one is linked. */
#ifndef INFERENCE_H
#define INFERENCE_H

#include "@NAME@.h"

struct tensor {
    void *data;
    size_t bytes; /* element type, shape and order in memory: @NAME@.h, of the program that the project was made of */
};

/* At the start, and once more to run another program after an update. After a failure `detail` says why. */
enum nuc_status inference_load(struct nuc_detail *detail);

size_t inference_inputs(void);
size_t inference_outputs(void);

/* Where input `index` is written before each inference, for its memory is reused. */
struct tensor inference_input(size_t index);

enum nuc_status inference_run(struct nuc_detail *detail);

/* The next inference begins a sequence: states have their initial values, as after inference_load(). */
void inference_reset(void);

/*
 * The content of the states, inference_states() bytes, 0 where the program keeps nothing from one inference to the
 * next: saved after an inference and restored before another one, it goes on there. Several streams have a copy each;
 * one that is stored goes on when the power is back.
 */
size_t inference_states(void);
void inference_save(void *to);
void inference_restore(const void *from);

#ifdef @UPPER@_FOUND
/* What the last inference has found (nucleon/decision.h); NULL: nothing was decided. */
const struct nuc_decider *inference_decide(void);
#endif

/* The result, valid until the next input is written. */
struct tensor inference_output(size_t index);

/*
 * Another program, as the package that `nucleon pack` writes: begun, given in pieces of any size, finished, and then
 * loaded by inference_load(). The program in use stays where it is until then. NUC_UNSUPPORTED: it is linked in as C.
 */
enum nuc_status inference_update_begin(struct nuc_detail *detail);
enum nuc_status inference_update_write(const void *data, size_t size, struct nuc_detail *detail);
enum nuc_status inference_update_finish(struct nuc_detail *detail);

/* Of the program in use; 0: it has none. */
uint32_t inference_version(void);

#endif
