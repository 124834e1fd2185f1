/* Where a program's tensors lie and when they live, as a table or a picture. */
#ifndef NUC_BACK_PROGRAM_MEMORY_MAP_H
#define NUC_BACK_PROGRAM_MEMORY_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "algorithms/plan.h"
#include "host/text.h"

/* Memory planned as one. */
struct nuc_map_pool {
    const char *name; /* "arena", "scratch of tag1" */
    const char *step; /* what a step is: "instruction", "kernel call" */
    uint64_t size, bound;
    bool proven;
    size_t n_tensors;
    const struct nuc_planned *tensors;
};

struct nuc_memory_map {
    const char *file;
    size_t n_pools;
    const struct nuc_map_pool *pools;
};

/* Every tensor of every pool by address, with a bar of its lifetime. */
void nuc_print_memory_map(struct nuc_text *out, const struct nuc_memory_map *map);

/* The tensors alive in the step of each pool that has the most bytes alive, the largest first. */
void nuc_print_memory_peak(struct nuc_text *out, const struct nuc_memory_map *map);

/* One picture per pool: steps to the right, addresses upwards. */
void nuc_draw_memory_map(struct nuc_text *out, const struct nuc_memory_map *map);

#endif
