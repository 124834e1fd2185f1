/*
 * What inspection makes of a file: a tree of what is in it, which `nucleon inspect --json` prints as it is and the text
 * is printed from, so that both say the same. docs/json.md has the members. Graphs of graphviz's dot
 * language, which are pictures and no descriptions, are made of the models themselves.
 */
#ifndef NUC_INSPECT_INSPECT_FORMS_H
#define NUC_INSPECT_INSPECT_FORMS_H

#include <jansson.h>

#include "host/text.h"
#include "ir/graph.h"
#include "litert/litert.h"

struct nuc_inspection {
    struct nuc_context *cx;
    const char *file; /* in messages */
    bool disassemble; /* the kernel calls of NPU programs, too */
    bool for_text;    /* also members that the text alone has */
};

/* ---- trees: each fills an object ---- */

void nuc_inspect_graph_json(struct nuc_context *cx, const struct nuc_graph *g, json_t *out);
void nuc_inspect_litert_json(struct nuc_context *cx, const struct nuc_lt_model *m, json_t *out);
void nuc_inspect_program(const struct nuc_inspection *in, struct nuc_span bytes, json_t *out);

/* The NeutronGraph operators of a LiteRT model, damaged ones too: a member "neutron_graphs" if there are any. */
void nuc_inspect_neutron_graphs(const struct nuc_inspection *in, const struct nuc_lt_model *m, json_t *out);

/* The data of a NeutronBackend delegate. */
void nuc_inspect_payload(const struct nuc_inspection *in, struct nuc_span bytes, json_t *out);

/* Text of a file, which may be any bytes, as a JSON string: what is not printable ASCII becomes \xNN. NULL is "". */
void nuc_put_bytes_text(struct nuc_context *cx, json_t *parent, const char *key, const char *text);

/* ---- text of trees ---- */

void nuc_print_program(struct nuc_text *out, const json_t *tree);
void nuc_print_neutron_graphs(struct nuc_text *out, const json_t *tree);
void nuc_print_payload(struct nuc_text *out, const json_t *payload);

/*
 * The template with each {member} replaced by the object's: lists in brackets, the first 64 items of them. {member:x}
 * is a number in hexadecimal, {member:6} one of six digits, {member:,} a list without brackets, {member:t} such a list
 * of texts.
 */
void nuc_print_members(struct nuc_text *out, const json_t *object, const char *template);

/* ---- dot ---- */

/* Operators are boxes, what the caller gives and gets is round, constants are only counted; edges are tensors. */
void nuc_inspect_graph_dot(struct nuc_text *out, const struct nuc_graph *g);
void nuc_inspect_litert_dot(struct nuc_text *out, const struct nuc_lt_model *m);

/*
 * The instructions of a program: orange on the CPU, green on the NPU, the kernels of a delegate call in a box of their
 * own. Fails with NUC_BAD_INPUT for a damaged program, and with NUC_UNSUPPORTED for one too large for a picture.
 */
void nuc_inspect_program_dot(struct nuc_text *out, const char *file, struct nuc_span bytes);

/* A text between quotes, as dot expects it. */
void nuc_dot_string(struct nuc_text *out, const char *text);

#endif
