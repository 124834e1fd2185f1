/* Prints a graph in the text form that docs/formats.md defines. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "ir/graph.h"

static bool is_plain_name(const char *name)
{
    if (*name == '\0')
        return false;
    for (; *name != '\0'; name++) {
        if (!isalnum((unsigned char)*name) && *name != '_' && *name != '.')
            return false;
    }
    return true;
}

static void print_string(struct nuc_text *out, const char *string)
{
    nuc_text_addf(out, "\"");
    for (; *string != '\0'; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\')
            nuc_text_addf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            nuc_text_addf(out, "\\x%02x", c);
        else
            nuc_text_addf(out, "%c", c);
    }
    nuc_text_addf(out, "\"");
}

static void print_name(struct nuc_text *out, const char *name)
{
    nuc_text_addf(out, "%%");
    if (is_plain_name(name))
        nuc_text_addf(out, "%s", name);
    else
        print_string(out, name);
}

/* The shortest of 15 to 17 digits that reads back equal; always with a mark that an integer does not have. */
static void print_float(struct nuc_text *out, double value)
{
    char digits[32];

    if (isnan(value)) {
        nuc_text_addf(out, "nan");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    nuc_text_addf(out, "%s%s", digits, strpbrk(digits, ".enf") == NULL ? ".0" : "");
}

/* ---- arguments ---- */

static const char *const memory_formats[] = {
    [NUC_CONTIGUOUS_FORMAT] = "contiguous",
    [NUC_CHANNELS_LAST] = "channels-last",
    [NUC_CHANNELS_LAST_3D] = "channels-last-3d",
    [NUC_PRESERVE_FORMAT] = "preserve",
};

static void print_node(struct nuc_text *out, const struct nuc_node *node)
{
    if (node == NULL)
        nuc_text_addf(out, "none");
    else
        print_name(out, node->name);
}

static void print_value(struct nuc_text *out, const struct nuc_arg *a)
{
    switch (a->kind) {
    case NUC_ARG_NONE:
        nuc_text_addf(out, "none");
        break;
    case NUC_ARG_NODE:
        print_node(out, a->u.node);
        break;
    case NUC_ARG_NODES:
    case NUC_ARG_INTS:
    case NUC_ARG_FLOATS:
        nuc_text_addf(out, "[");
        for (uint32_t i = 0; i < a->count; i++) {
            nuc_text_addf(out, "%s", i == 0 ? "" : ", ");
            if (a->kind == NUC_ARG_NODES)
                print_node(out, a->u.nodes[i]);
            else if (a->kind == NUC_ARG_INTS)
                nuc_text_addf(out, "%lld", (long long)a->u.ints[i]);
            else
                print_float(out, a->u.floats[i]);
        }
        nuc_text_addf(out, "]");
        break;
    case NUC_ARG_INT:
        nuc_text_addf(out, "%lld", (long long)a->u.i);
        break;
    case NUC_ARG_FLOAT:
        print_float(out, a->u.f);
        break;
    case NUC_ARG_BOOL:
        nuc_text_addf(out, "%s", a->u.b ? "true" : "false");
        break;
    case NUC_ARG_STRING:
        print_string(out, a->u.string);
        break;
    case NUC_ARG_DTYPE:
        nuc_text_addf(out, "%s", nuc_dtype_name(a->u.dtype));
        break;
    case NUC_ARG_MEMORY_FORMAT:
        nuc_text_addf(out, "%s", memory_formats[a->u.memory_format]);
        break;
    case NUC_ARG_OTHER:
        nuc_text_addf(out, "other");
        break;
    }
}

/* ---- values, annotations, data ---- */

static void print_vals(struct nuc_text *out, const struct nuc_node *node)
{
    if (node->n_vals == 0 && !node->is_tuple)
        return;
    nuc_text_addf(out, " : %s", node->is_tuple ? "(" : "");
    for (uint32_t i = 0; i < node->n_vals; i++)
        nuc_text_addf(out, "%s%s", i == 0 ? "" : ", ", nuc_meta_text(out->cx, &node->vals[i]));
    nuc_text_addf(out, "%s", node->is_tuple ? ")" : "");
}

static void print_annotations(struct nuc_text *out, const struct nuc_node *node)
{
    static const char *const formats[] = {
        [NUC_FORMAT_NONE] = "none",
        [NUC_FORMATLESS] = "formatless",
        [NUC_CHANNELS_FIRST] = "channels-first",
    };

    if (node->format != NUC_FORMAT_UNSET)
        nuc_text_addf(out, " format=%s", formats[node->format]);
    if (node->cluster != NULL) {
        nuc_text_addf(out, " cluster=");
        print_name(out, node->cluster->name);
    }
    if (node->partition >= 0)
        nuc_text_addf(out, " partition=%d", node->partition);
    if (node->do_not_delegate)
        nuc_text_addf(out, " no-delegate");
    if (node->is_centred)
        nuc_text_addf(out, " centred");
    if (node->source->file != NULL) {
        nuc_text_addf(out, " at ");
        print_string(out, node->source->file);
        nuc_text_addf(out, ":%d", node->source->line);
    }
    if (node->source->module != NULL) {
        nuc_text_addf(out, " in ");
        print_string(out, node->source->module);
    }
}

/* Bytes in the order of the meta's dim order, dense. */
static void print_data(struct nuc_text *out, const struct nuc_node *node)
{
    static const char hex[] = "0123456789abcdef";
    const struct nuc_meta *m = &node->vals[0];
    size_t size = nuc_dtype_size(m->dtype);
    int64_t index[NUC_MAX_RANK] = {0};
    int64_t count = nuc_elements(m);
    int64_t offset = 0;

    nuc_text_addf(out, " data ");
    for (int64_t n = 0; n < count; n++) {
        const uint8_t *element = node->data->bytes.data + (size_t)offset * size;
        for (size_t i = 0; i < size; i++)
            nuc_text_add(out, (const char[]){hex[element[i] >> 4], hex[element[i] & 15]}, 2);
        for (uint8_t i = m->rank; i-- > 0;) {
            uint8_t d = m->dim_order[i];
            offset += node->data->strides[d];
            if (++index[d] < m->sizes[d])
                break;
            offset -= node->data->strides[d] * m->sizes[d];
            index[d] = 0;
        }
    }
}

const char *nuc_graph_print(struct nuc_graph *g, bool with_data)
{
    struct nuc_text out = {.cx = g->cx};

    nuc_text_addf(&out, "nucleon-graph 1\n");
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        print_name(&out, n->name);
        nuc_text_addf(&out, " = ");
        if (nuc_is_placeholder(n)) {
            static const char *const kinds[] = {
                [NUC_USER_INPUT] = "input",  [NUC_PARAMETER] = "parameter", [NUC_BUFFER] = "buffer",
                [NUC_CONSTANT] = "constant", [NUC_STATE] = "state",
            };

            nuc_text_addf(&out, "%s", kinds[n->input_kind]);
            if (n->target != NULL) {
                nuc_text_addf(&out, " ");
                print_string(&out, n->target);
            }
        } else {
            nuc_text_addf(&out, "%s", nuc_node_op_name(n));
            /* Given arguments only: by position as long as none is left out, then by name. */
            const struct nuc_schema *schema = nuc_op_schema(n->op);
            bool by_position = true;
            bool first = true;
            nuc_text_addf(&out, "(");
            for (uint32_t i = 0; i < n->n_args; i++) {
                by_position = by_position && n->args[i].given && !schema->args[i].keyword_only;
                if (!n->args[i].given)
                    continue;
                nuc_text_addf(&out, "%s", first ? "" : ", ");
                if (!by_position)
                    nuc_text_addf(&out, "%s=", schema->args[i].name);
                print_value(&out, &n->args[i]);
                first = false;
            }
            nuc_text_addf(&out, ")");
        }
        print_vals(&out, n);
        print_annotations(&out, n);
        if (with_data && n->data != NULL)
            print_data(&out, n);
        nuc_text_addf(&out, "\n");
    }
    return nuc_text_string(&out);
}
