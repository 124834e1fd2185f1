/*
 * What keeps a model from being compiled, all of it: the first is an error, unless the context collects obstacles. Then
 * what cannot be compiled is left out, its results become inputs of the model and its operands outputs.
 */
#ifndef NUC_IR_OBSTACLES_H
#define NUC_IR_OBSTACLES_H

#include "host/context.h"

/* Members are NULL, and the line 0, where they are not known or the model as a whole is meant. */
struct nuc_obstacle {
    const char *op, *node, *file, *module;
    int line;
    const char *text; /* what is in the way and what to do about it */
    struct nuc_obstacle *next;
};

struct nuc_obstacles {
    struct nuc_arena *arena; /* of the texts */
    struct nuc_obstacle *first, **last;
    size_t count;
    const char *message; /* the refusal in one line; NULL as long as they are collected */
};

/* Collects from here on, until cx->obstacles is NULL again. */
struct nuc_obstacles *nuc_collect_obstacles(struct nuc_context *cx);

/* Copies the obstacle with its texts; `text` loses "FILE: " in front. */
void nuc_add_obstacle(struct nuc_context *cx, const char *file, const struct nuc_obstacle *obstacle);

#endif
