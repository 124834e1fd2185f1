/*
 * Reads the text form of a graph (docs/formats.md). The text is not trusted: every name, number and size is checked,
 * and an error names file and line. Shapes are taken as written; nuc_graph_verify() compares them with the operators.
 * A call without a type gets the one its operator's shape rule computes.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text/parse_graph.h"
#include "ir/args.h"
#include "ir/invariants.h"

struct reader {
    struct nuc_context *cx;
    const char *file;
    const char *p; /* a NUL ends the text */
    int line;
    struct nuc_graph *g;
};

/* A cluster may be named before its node is defined: resolved at the end. */
struct cluster_ref {
    struct cluster_ref *next;
    struct nuc_node *node;
    const char *name;
    int line;
};

_Noreturn static void bad(const struct reader *r, const char *what)
{
    nuc_fail(r->cx, NUC_BAD_INPUT, "%s:%d: %s at '%.20s'", r->file, r->line, what, r->p);
}

/* ---- words ---- */

static void skip_spaces(struct reader *r)
{
    while (*r->p == ' ' || *r->p == '\t' || *r->p == '\r')
        r->p++;
}

static bool take(struct reader *r, char c)
{
    skip_spaces(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static void expect(struct reader *r, char c)
{
    if (!take(r, c))
        bad(r, nuc_format(r->cx, "'%c' is missing", c));
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+';
}

/* Length of the word ahead; 0 when there is none. */
static size_t word_length(struct reader *r)
{
    size_t length = 0;

    skip_spaces(r);
    while (is_word_char(r->p[length]))
        length++;
    return length;
}

/* The word ahead, "" when there is none. */
static const char *take_word(struct reader *r)
{
    size_t length = word_length(r);
    char *word = nuc_alloc(r->cx, length + 1);

    memcpy(word, r->p, length);
    r->p += length;
    return word;
}

static bool take_keyword(struct reader *r, const char *keyword)
{
    size_t length = word_length(r);

    if (length != strlen(keyword) || memcmp(r->p, keyword, length) != 0)
        return false;
    r->p += length;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Behind the backslash: the escaped character. */
static char take_escape(struct reader *r)
{
    if (*r->p == '"' || *r->p == '\\')
        return *r->p++;
    if (*r->p != 'x')
        bad(r, "unknown escape");
    int high = hex_digit(r->p[1]);
    int low = high < 0 ? -1 : hex_digit(r->p[2]);
    if (low < 0 || high * 16 + low == 0)
        bad(r, "\\x expects two hexadecimal digits that are not 00");
    r->p += 3;
    return (char)(high * 16 + low);
}

static const char *take_string(struct reader *r)
{
    expect(r, '"');
    size_t limit = strcspn(r->p, "\n");
    char *string = nuc_alloc(r->cx, limit + 1);
    size_t length = 0;

    while (*r->p != '"') {
        if (*r->p == '\0' || *r->p == '\n')
            bad(r, "the text does not end on its line");
        if (*r->p == '\\') {
            r->p++;
            string[length++] = take_escape(r);
        } else {
            string[length++] = *r->p++;
        }
    }
    r->p++;
    return string;
}

/* Behind '%'. */
static const char *take_name(struct reader *r)
{
    if (*r->p == '"')
        return take_string(r);
    size_t length = 0;
    while (isalnum((unsigned char)r->p[length]) || r->p[length] == '_' || r->p[length] == '.')
        length++;
    if (length == 0)
        bad(r, "a name is missing");
    char *name = nuc_alloc(r->cx, length + 1);
    memcpy(name, r->p, length);
    r->p += length;
    return name;
}

static int64_t take_int(struct reader *r)
{
    skip_spaces(r);
    if (*r->p != '-' && !isdigit((unsigned char)*r->p))
        bad(r, "a number is missing");
    char *end;
    errno = 0;
    long long value = strtoll(r->p, &end, 10);
    if (errno != 0 || end == r->p)
        bad(r, "the number does not fit 64 bits");
    r->p = end;
    return value;
}

/* ---- arguments ---- */

/* A number with a '.', an exponent, inf or nan is a float, any other an integer. */
static struct nuc_arg take_number(struct reader *r)
{
    size_t length = word_length(r);
    char *end;

    for (size_t i = 0; i < length; i++) {
        if (strchr(".enf", r->p[i]) == NULL)
            continue;
        double value = strtod(r->p, &end);
        if (end != r->p + length)
            bad(r, "this is not a number");
        r->p = end;
        return (struct nuc_arg){.kind = NUC_ARG_FLOAT, .u.f = value};
    }
    return (struct nuc_arg){.kind = NUC_ARG_INT, .u.i = take_int(r)};
}

static struct nuc_node *take_node(struct reader *r)
{
    expect(r, '%');
    const char *name = take_name(r);
    struct nuc_node *node = nuc_find_node(r->g, name);

    if (node == NULL)
        bad(r, nuc_format(r->cx, "%%%s is not defined above", name));
    return node;
}

static const struct {
    const char *word;
    struct nuc_arg value;
} words[] = {
    {"none", {.kind = NUC_ARG_NONE}},
    {"true", {.kind = NUC_ARG_BOOL, .u.b = true}},
    {"false", {.kind = NUC_ARG_BOOL, .u.b = false}},
    {"contiguous", {.kind = NUC_ARG_MEMORY_FORMAT, .u.memory_format = NUC_CONTIGUOUS_FORMAT}},
    {"channels-last", {.kind = NUC_ARG_MEMORY_FORMAT, .u.memory_format = NUC_CHANNELS_LAST}},
    {"channels-last-3d", {.kind = NUC_ARG_MEMORY_FORMAT, .u.memory_format = NUC_CHANNELS_LAST_3D}},
    {"preserve", {.kind = NUC_ARG_MEMORY_FORMAT, .u.memory_format = NUC_PRESERVE_FORMAT}},
    {"other", {.kind = NUC_ARG_OTHER}},
};

static bool find_dtype(const char *word, enum nuc_dtype *dtype)
{
    for (unsigned i = 0; i < NUC_DTYPE_COUNT; i++) {
        if (strcmp(nuc_dtype_name((enum nuc_dtype)i), word) == 0) {
            *dtype = (enum nuc_dtype)i;
            return true;
        }
    }
    return false;
}

/* One value that is not a list. */
static struct nuc_arg take_single(struct reader *r)
{
    skip_spaces(r);
    if (*r->p == '%')
        return (struct nuc_arg){.kind = NUC_ARG_NODE, .u.node = take_node(r)};
    if (*r->p == '"')
        return (struct nuc_arg){.kind = NUC_ARG_STRING, .u.string = take_string(r)};
    if (isdigit((unsigned char)*r->p) || (*r->p == '-' && word_length(r) > 1))
        return take_number(r);
    if (take_keyword(r, "inf"))
        return (struct nuc_arg){.kind = NUC_ARG_FLOAT, .u.f = (double)INFINITY};
    if (take_keyword(r, "nan"))
        return (struct nuc_arg){.kind = NUC_ARG_FLOAT, .u.f = (double)NAN};
    struct nuc_arg value = {.kind = NUC_ARG_DTYPE};
    const char *word = take_word(r);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) == 0)
            return words[i].value;
    }
    if (!find_dtype(word, &value.u.dtype))
        bad(r, nuc_format(r->cx, "'%s' is not a value", word));
    return value;
}

/* Stores the elements as a list of the schema's kind. */
static struct nuc_arg pack_list(struct reader *r, const struct nuc_schema_arg *schema, const struct nuc_arg *items,
                                size_t count)
{
    struct nuc_arg list = {.kind = schema->kind, .count = (uint32_t)count};
    struct nuc_node **nodes = nuc_alloc_array(r->cx, count, sizeof *nodes);
    int64_t *ints = nuc_alloc_array(r->cx, count, sizeof *ints);
    double *floats = nuc_alloc_array(r->cx, count, sizeof *floats);

    for (size_t i = 0; i < count; i++) {
        bool fits = false;
        if (schema->kind == NUC_ARG_NODES && (items[i].kind == NUC_ARG_NODE || items[i].kind == NUC_ARG_NONE)) {
            nodes[i] = items[i].kind == NUC_ARG_NODE ? items[i].u.node : NULL;
            fits = true;
        } else if (schema->kind == NUC_ARG_INTS && items[i].kind == NUC_ARG_INT) {
            ints[i] = items[i].u.i;
            fits = true;
        } else if (schema->kind == NUC_ARG_FLOATS && items[i].kind == NUC_ARG_FLOAT) {
            floats[i] = items[i].u.f;
            fits = true;
        }
        if (!fits)
            bad(r, nuc_format(r->cx, "element %zu of argument '%s' has the wrong type", i, schema->name));
    }
    if (schema->kind == NUC_ARG_NODES)
        list.u.nodes = nodes;
    else if (schema->kind == NUC_ARG_INTS)
        list.u.ints = ints;
    else
        list.u.floats = floats;
    return list;
}

static struct nuc_arg take_value(struct reader *r, const struct nuc_schema_arg *schema)
{
    struct nuc_arg *items = NULL;
    size_t count = 0, capacity = 0;

    if (!take(r, '['))
        return take_single(r);
    if (!schema->is_list)
        bad(r, nuc_format(r->cx, "argument '%s' is not a list", schema->name));
    while (!take(r, ']')) {
        if (count != 0)
            expect(r, ',');
        items = nuc_grow(r->cx, items, &capacity, count + 1, sizeof *items);
        items[count++] = take_single(r);
    }
    return pack_list(r, schema, items, count);
}

/* A line may not name what it defines. */
static bool holds(const struct nuc_arg *value, const struct nuc_node *node)
{
    for (uint32_t i = 0; value->kind == NUC_ARG_NODES && i < value->count; i++) {
        if (value->u.nodes[i] == node)
            return true;
    }
    return value->kind == NUC_ARG_NODE && value->u.node == node;
}

static void set_arg(struct reader *r, struct nuc_node *node, uint32_t index, struct nuc_arg value)
{
    const struct nuc_schema_arg *schema = &nuc_op_schema(node->op)->args[index];

    bool stays = schema->is_scalar && nuc_keeps_whole_numbers(node);
    if (schema->kind == NUC_ARG_FLOAT && value.kind == NUC_ARG_INT && !stays)
        value = (struct nuc_arg){.kind = NUC_ARG_FLOAT, .u.f = (double)value.u.i};
    if (!nuc_arg_fits(schema, &value))
        bad(r, nuc_format(r->cx, "argument '%s' has the wrong type", schema->name));
    if (node->args[index].given)
        bad(r, nuc_format(r->cx, "argument '%s' is given twice", schema->name));
    if (holds(&value, node))
        bad(r, nuc_format(r->cx, "argument '%s' is what the line defines", schema->name));
    if (value.kind == NUC_ARG_NODE) {
        nuc_set_arg_node(node, r->g, index, value.u.node);
    } else if (value.kind == NUC_ARG_NODES) {
        nuc_set_arg_nodes(node, r->g, index, value.u.nodes, value.count);
    } else {
        value.given = true;
        node->args[index] = value;
    }
}

/* "name=" ahead: its index; otherwise the next position. */
static uint32_t take_arg_index(struct reader *r, const struct nuc_schema *schema, uint32_t *position)
{
    size_t length = word_length(r);

    if (length != 0 && r->p[length] == '=') {
        int index = nuc_schema_arg_index(schema, take_word(r));
        r->p++;
        if (index < 0)
            bad(r, "the operator has no such argument");
        *position = UINT32_MAX;
        return (uint32_t)index;
    }
    if (*position >= schema->n_args || schema->args[*position].keyword_only)
        bad(r, "too many arguments by position, or one after an argument by name");
    return (*position)++;
}

/* ---- values ---- */

/* float32[1, 3, 32, 32] channels-last */
static struct nuc_meta take_meta(struct reader *r)
{
    struct nuc_meta m = {.rank = 0};

    if (!find_dtype(take_word(r), &m.dtype))
        bad(r, "an element type is missing");
    expect(r, '[');
    while (!take(r, ']')) {
        if (m.rank == NUC_MAX_RANK)
            bad(r, "too many dimensions");
        if (m.rank != 0)
            expect(r, ',');
        m.sizes[m.rank++] = take_int(r);
    }
    nuc_set_contiguous(&m);
    if (take_keyword(r, "channels-last")) {
        nuc_set_channels_last(&m);
    } else if (take_keyword(r, "dim-order")) {
        expect(r, '(');
        for (uint8_t i = 0; i < m.rank; i++) {
            if (i != 0)
                expect(r, ',');
            int64_t dim = take_int(r);
            if (dim < 0 || dim >= m.rank)
                bad(r, "the dim order names a dimension that does not exist");
            m.dim_order[i] = (uint8_t)dim;
        }
        expect(r, ')');
    }
    if (!nuc_meta_is_valid(&m))
        bad(r, "the sizes or the dim order are impossible");
    return m;
}

/* No type is written: the shape rule computes it, which relies on inputs as the verifier admits them. */
static void infer_vals(struct reader *r, struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};

    if (node->op == NUC_OP_OUTPUT)
        return;
    if (node->op != NUC_OP_GETITEM && nuc_op_kind(node->op) == NUC_KIND_GRAPH)
        bad(r, "the value's type is missing");
    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (in->is_tuple != (node->op == NUC_OP_GETITEM))
            bad(r, "only getitem reads a tuple, everything else single tensors");
    }
    nuc_infer_shape(r->g, node);
}

static void take_vals(struct reader *r, struct nuc_node *node)
{
    struct nuc_meta *metas = NULL;
    size_t count = 0, capacity = 0;

    if (!take(r, ':')) {
        infer_vals(r, node);
        return;
    }
    if (!take(r, '(')) {
        struct nuc_meta m = take_meta(r);
        nuc_set_val(r->g, node, &m);
        return;
    }
    while (!take(r, ')')) {
        if (count != 0)
            expect(r, ',');
        metas = nuc_grow(r->cx, metas, &capacity, count + 1, sizeof *metas);
        metas[count++] = take_meta(r);
    }
    nuc_set_tuple(r->g, node, metas, (uint32_t)count);
}

/* ---- annotations and data ---- */

static enum nuc_format take_format(struct reader *r)
{
    expect(r, '=');
    if (take_keyword(r, "none"))
        return NUC_FORMAT_NONE;
    if (take_keyword(r, "formatless"))
        return NUC_FORMATLESS;
    if (take_keyword(r, "channels-first"))
        return NUC_CHANNELS_FIRST;
    bad(r, "unknown format");
}

static int take_small(struct reader *r, char before)
{
    expect(r, before);
    int64_t value = take_int(r);

    if (value < 0 || value > INT32_MAX)
        bad(r, "the number is out of range");
    return (int)value;
}

/* One element of `data` from a number. */
static void store_number(struct reader *r, enum nuc_dtype dtype, void *element, struct nuc_arg value)
{
    bool is_int = value.kind == NUC_ARG_INT;
    double real = is_int ? (double)value.u.i : value.u.f;
    size_t size = nuc_dtype_size(dtype);

    if (dtype == NUC_F64) {
        memcpy(element, &real, sizeof real);
    } else if (dtype == NUC_F32) {
        float narrow = (float)real;
        memcpy(element, &narrow, sizeof narrow);
    } else if (dtype == NUC_F16 || dtype == NUC_BF16 || !is_int) {
        bad(r, nuc_format(r->cx, "the number cannot be an element of %s", nuc_dtype_name(dtype)));
    } else {
        memcpy(element, &value.u.i, size); /* little-endian: the low bytes come first */
    }
}

static void take_annotations(struct reader *r, struct nuc_node *node, struct cluster_ref **refs)
{
    struct nuc_source source = *node->source;

    while (word_length(r) != 0) {
        if (take_keyword(r, "format")) {
            node->format = take_format(r);
        } else if (take_keyword(r, "cluster")) {
            struct cluster_ref *ref = nuc_alloc(r->cx, sizeof *ref);
            expect(r, '=');
            expect(r, '%');
            *ref = (struct cluster_ref){*refs, node, take_name(r), r->line};
            *refs = ref;
        } else if (take_keyword(r, "partition")) {
            node->partition = take_small(r, '=');
        } else if (take_keyword(r, "no-delegate")) {
            node->do_not_delegate = true;
        } else if (take_keyword(r, "centred")) {
            node->is_centred = true;
        } else if (take_keyword(r, "at")) {
            source.file = take_string(r);
            source.line = take_small(r, ':');
        } else if (take_keyword(r, "in")) {
            source.module = take_string(r);
        } else if (take_keyword(r, "data")) {
            if ((!nuc_is_static(node) && !nuc_is_state(node)) || node->n_vals != 1)
                bad(r, "only a parameter, buffer, constant or state has data");
            size_t size = nuc_bytes(&node->vals[0]);
            skip_spaces(r);
            size_t digits = strspn(r->p, "0123456789abcdef");
            if (digits / 2 != size || digits % 2 != 0)
                bad(r, nuc_format(r->cx, "%zu hexadecimal digits of data for %zu bytes", digits, size));
            uint8_t *bytes = nuc_alloc(r->cx, size);
            for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)(hex_digit(r->p[2 * i]) << 4 | hex_digit(r->p[2 * i + 1]));
            r->p += digits;
            node->data = nuc_dense_data(r->cx, &node->vals[0], bytes);
        } else if (take_keyword(r, "values")) {
            /* Numbers in the order of `data`, repeated until the tensor is full. */
            if ((!nuc_is_static(node) && !nuc_is_state(node)) || node->n_vals != 1)
                bad(r, "only a parameter, buffer, constant or state has data");
            size_t step = nuc_dtype_size(node->vals[0].dtype), size = nuc_bytes(&node->vals[0]);
            uint8_t *bytes = nuc_alloc(r->cx, size);
            size_t used = 0;
            expect(r, '(');
            do {
                if (used == size)
                    bad(r, "more values than the tensor has elements");
                store_number(r, node->vals[0].dtype, bytes + used, take_number(r));
                used += step;
            } while (take(r, ','));
            expect(r, ')');
            for (size_t i = used; i < size; i++)
                bytes[i] = bytes[i - used];
            node->data = nuc_dense_data(r->cx, &node->vals[0], bytes);
        } else {
            bad(r, "unknown annotation");
        }
    }
    if (source.file != NULL || source.module != NULL)
        node->source = nuc_copy(r->cx, &source, sizeof source);
}

/* ---- nodes ---- */

static const struct {
    const char *word;
    enum nuc_input_kind kind;
} placeholders[] = {
    {"input", NUC_USER_INPUT},  {"parameter", NUC_PARAMETER}, {"buffer", NUC_BUFFER},
    {"constant", NUC_CONSTANT}, {"state", NUC_STATE},
};

static bool find_placeholder(const char *word, enum nuc_input_kind *kind)
{
    for (size_t i = 0; i < sizeof placeholders / sizeof placeholders[0]; i++) {
        if (strcmp(placeholders[i].word, word) == 0) {
            *kind = placeholders[i].kind;
            return true;
        }
    }
    return false;
}

static struct nuc_node *add_node(struct reader *r, enum nuc_op op, const char *name)
{
    if (name[0] == '\0' || nuc_find_node(r->g, name) != NULL)
        bad(r, nuc_format(r->cx, "the name '%s' is empty or used twice", name));
    if (nuc_output_node(r->g) != NULL)
        bad(r, "a node after the output");
    return nuc_add_node(r->g, NULL, op, name);
}

static struct nuc_node *take_placeholder(struct reader *r, const char *name, enum nuc_input_kind kind)
{
    if (r->g->last != NULL && !nuc_is_placeholder(r->g->last))
        bad(r, "an input, parameter, buffer, constant or state after an operator");
    struct nuc_node *node = add_node(r, NUC_OP_PLACEHOLDER, name);

    node->input_kind = kind;
    if (kind != NUC_USER_INPUT)
        node->target = take_string(r);
    return node;
}

static struct nuc_node *take_call(struct reader *r, const char *name, const char *op_name)
{
    struct nuc_op_form form = nuc_op_find(op_name);

    if (form.op == NUC_OP_COUNT || form.op == NUC_OP_PLACEHOLDER)
        bad(r, nuc_format(r->cx, "there is no operator '%s'", op_name));
    if (form.dialect == NUC_EDGE)
        r->g->dialect = NUC_EDGE;
    struct nuc_node *node = add_node(r, form.op, name);
    node->dialect = form.dialect;
    node->in_place = form.in_place;
    const struct nuc_schema *schema = nuc_op_schema(node->op);
    uint32_t position = 0;
    bool first = true;
    expect(r, '(');
    while (!take(r, ')')) {
        if (!first)
            expect(r, ',');
        first = false;
        uint32_t index = take_arg_index(r, schema, &position);
        set_arg(r, node, index, take_value(r, &schema->args[index]));
    }
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (!node->args[i].given && !schema->args[i].has_default)
            bad(r, nuc_format(r->cx, "argument '%s' is missing", schema->args[i].name));
    }
    return node;
}

static void end_line(struct reader *r)
{
    skip_spaces(r);
    if (*r->p == '#')
        r->p += strcspn(r->p, "\n");
    if (*r->p == '\n') {
        r->p++;
        r->line++;
    } else if (*r->p != '\0') {
        bad(r, "unexpected text");
    }
}

struct nuc_graph *nuc_graph_parse(struct nuc_context *cx, const char *file, const char *text)
{
    struct reader r = {cx, file, text, 1, nuc_graph_new(cx, file)};
    struct cluster_ref *refs = NULL;

    if (!take_keyword(&r, "nucleon-graph") || take_int(&r) != 1)
        bad(&r, "the first line is not 'nucleon-graph 1'");
    end_line(&r);
    while (*r.p != '\0') {
        skip_spaces(&r);
        if (*r.p == '%') {
            enum nuc_input_kind kind;
            expect(&r, '%');
            const char *name = take_name(&r);
            expect(&r, '=');
            const char *what = take_word(&r);
            bool is_placeholder = find_placeholder(what, &kind);
            struct nuc_node *node = is_placeholder ? take_placeholder(&r, name, kind) : take_call(&r, name, what);
            take_vals(&r, node);
            if (node->is_tuple && (is_placeholder || node->op == NUC_OP_GETITEM))
                bad(&r, "the value cannot be a tuple");
            take_annotations(&r, node, &refs);
        }
        end_line(&r);
    }
    if (nuc_output_node(r.g) == NULL)
        bad(&r, "the output is missing");
    if (nuc_output_node(r.g)->args[NUC_ARG(OUTPUT, values)].count < nuc_n_states(r.g))
        bad(&r, "the output has fewer values than there are states");
    for (; refs != NULL; refs = refs->next) {
        refs->node->cluster = nuc_find_node(r.g, refs->name);
        if (refs->node->cluster == NULL)
            nuc_fail(r.cx, NUC_BAD_INPUT, "%s:%d: there is no node '%s' for the cluster", r.file, refs->line,
                     refs->name);
    }
    return r.g;
}
