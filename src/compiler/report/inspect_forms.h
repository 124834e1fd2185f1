/* Files as JSON and as graphs of graphviz's dot language: what `nucleon inspect --json` and `--dot` print. */
#ifndef NUC_REPORT_INSPECT_FORMS_H
#define NUC_REPORT_INSPECT_FORMS_H

#include <jansson.h>

#include "compiler/graph/graph.h"
#include "compiler/litert/litert.h"
#include "host/text.h"

/* Each fills an empty object. The members are documented in docs/formats.md. */
void nuc_inspect_graph_json(struct nuc_context *cx, const struct nuc_graph *g, json_t *out);
void nuc_inspect_litert_json(struct nuc_context *cx, const struct nuc_lt_model *m, json_t *out);
void nuc_inspect_program_json(struct nuc_context *cx, const char *file, struct nuc_span bytes, bool disassemble,
                              json_t *out);

/* The NeutronGraph operators of a LiteRT model, damaged ones too. JSON: a member "neutron_graphs" if there are any. */
void nuc_inspect_neutron_graphs(struct nuc_text *out, const struct nuc_lt_model *m, bool disassemble);
void nuc_inspect_neutron_graphs_json(struct nuc_context *cx, const struct nuc_lt_model *m, bool disassemble,
                                     json_t *out);

/* Which converter made the microcode, and where it therefore runs. */
const char *nuc_inspect_maker(struct nuc_context *cx, struct nuc_span microcode);

/* Operators are boxes, what the caller gives and gets is round, constants are only counted; edges are tensors. */
void nuc_inspect_graph_dot(struct nuc_text *out, const struct nuc_graph *g);
void nuc_inspect_litert_dot(struct nuc_text *out, const struct nuc_lt_model *m);

/* Text of a file, which may be any bytes, as a JSON string: what is not printable ASCII becomes \xNN. */
void nuc_put_bytes_text(struct nuc_context *cx, json_t *parent, const char *key, const char *text, size_t length);

/* A text between quotes, as dot wants it. */
void nuc_dot_string(struct nuc_text *out, const char *text);

#endif
