/* The operator table and its schemas, read from ops.def. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/graph.h"

static const struct {
    const char *name;
    enum nuc_op_kind kind;
    const char *schema;
} rows[NUC_OP_COUNT] = {
#define NUC_OP(enumerator, name, kind, schema) [NUC_OP_##enumerator] = {name, kind, schema},
#include "compiler/graph/ops.def"
#undef NUC_OP
};

const char *nuc_op_name(enum nuc_op op)
{
    return (unsigned)op < NUC_OP_COUNT ? rows[op].name : "unknown";
}

enum nuc_op_kind nuc_op_kind(enum nuc_op op)
{
    return (unsigned)op < NUC_OP_COUNT ? rows[op].kind : NUC_KIND_GRAPH;
}

enum nuc_op nuc_op_find(const char *name)
{
    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        if (strcmp(rows[op].name, name) == 0)
            return (enum nuc_op)op;
    }
    return NUC_OP_COUNT;
}

/* ---- schema text: "(Tensor input, int[2] stride=1, *, bool b=False) -> 1" ---- */

struct schema_reader {
    struct nuc_context *cx;
    const char *text; /* whole, for messages */
    const char *p;
};

_Noreturn static void bad_schema(struct schema_reader *r, const char *what)
{
    nuc_fail(r->cx, NUC_INTERNAL, "ops.def: %s at '%s' in schema %s", what, r->p, r->text);
}

static void skip_spaces(struct schema_reader *r)
{
    while (*r->p == ' ')
        r->p++;
}

static bool take(struct schema_reader *r, char c)
{
    skip_spaces(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static const char *take_word(struct schema_reader *r)
{
    skip_spaces(r);
    size_t length = 0;
    while (isalnum((unsigned char)r->p[length]) || r->p[length] == '_')
        length++;
    if (length == 0)
        bad_schema(r, "a word is missing");
    char *word = nuc_alloc(r->cx, length + 1);
    memcpy(word, r->p, length);
    r->p += length;
    return word;
}

static const struct {
    const char *name;
    enum nuc_arg_kind kind, list_kind;
} type_names[] = {
    {"Tensor", NUC_ARG_NODE, NUC_ARG_NODES},     {"int", NUC_ARG_INT, NUC_ARG_INTS},
    {"float", NUC_ARG_FLOAT, NUC_ARG_FLOATS},    {"Scalar", NUC_ARG_FLOAT, NUC_ARG_FLOATS},
    {"bool", NUC_ARG_BOOL, NUC_ARG_NONE},        {"str", NUC_ARG_STRING, NUC_ARG_NONE},
    {"ScalarType", NUC_ARG_DTYPE, NUC_ARG_NONE}, {"MemoryFormat", NUC_ARG_MEMORY_FORMAT, NUC_ARG_NONE},
    {"Other", NUC_ARG_OTHER, NUC_ARG_NONE},
};

static void read_type(struct schema_reader *r, struct nuc_schema_arg *arg)
{
    const char *word = take_word(r);
    size_t row = 0;

    while (row < sizeof type_names / sizeof type_names[0] && strcmp(type_names[row].name, word) != 0)
        row++;
    if (row == sizeof type_names / sizeof type_names[0])
        bad_schema(r, "unknown type");
    arg->kind = type_names[row].kind;
    if (take(r, '[')) {
        arg->is_list = true;
        arg->list_size = (uint32_t)strtoul(r->p, NULL, 10);
        while (isdigit((unsigned char)*r->p))
            r->p++;
        if (!take(r, ']'))
            bad_schema(r, "']' is missing");
        arg->kind = type_names[row].list_kind;
    }
    arg->optional = take(r, '?');
}

/* A number default stands for every element of a fixed-size list. */
static void set_int_default(struct schema_reader *r, struct nuc_schema_arg *arg, int64_t value)
{
    if (!arg->is_list) {
        arg->fallback = (struct nuc_arg){.kind = NUC_ARG_INT, .u.i = value};
        return;
    }
    int64_t *list = nuc_alloc_array(r->cx, arg->list_size, sizeof *list);
    for (uint32_t i = 0; i < arg->list_size; i++)
        list[i] = value;
    arg->fallback = (struct nuc_arg){.kind = NUC_ARG_INTS, .count = arg->list_size, .u.ints = list};
}

static void read_word_default(struct schema_reader *r, struct nuc_schema_arg *arg)
{
    const char *word = take_word(r);

    if (strcmp(word, "None") == 0)
        arg->fallback = (struct nuc_arg){.kind = NUC_ARG_NONE};
    else if (strcmp(word, "True") == 0 || strcmp(word, "False") == 0)
        arg->fallback = (struct nuc_arg){.kind = NUC_ARG_BOOL, .u.b = word[0] == 'T'};
    else if (strcmp(word, "contiguous_format") == 0)
        arg->fallback = (struct nuc_arg){.kind = NUC_ARG_MEMORY_FORMAT, .u.memory_format = NUC_CONTIGUOUS_FORMAT};
    else
        bad_schema(r, "unknown default");
}

static void read_default(struct schema_reader *r, struct nuc_schema_arg *arg)
{
    skip_spaces(r);
    arg->has_default = true;
    if (take(r, '[')) {
        if (!take(r, ']'))
            bad_schema(r, "only the empty list may be a default");
        arg->fallback = (struct nuc_arg){.kind = arg->kind};
    } else if (take(r, '"')) {
        arg->fallback = (struct nuc_arg){.kind = NUC_ARG_STRING, .u.string = take_word(r)};
        if (!take(r, '"'))
            bad_schema(r, "'\"' is missing");
    } else if (*r->p == '-' || isdigit((unsigned char)*r->p)) {
        char *end;
        double value = strtod(r->p, &end);
        r->p = end;
        if (arg->kind == NUC_ARG_FLOAT)
            arg->fallback = (struct nuc_arg){.kind = NUC_ARG_FLOAT, .u.f = value};
        else
            set_int_default(r, arg, (int64_t)value);
    } else {
        read_word_default(r, arg);
    }
}

static struct nuc_schema *read_schema(struct nuc_context *cx, const char *text)
{
    struct schema_reader r = {cx, text, text};
    struct nuc_schema *schema = nuc_alloc(cx, sizeof *schema);
    struct nuc_schema_arg *args = NULL;
    size_t capacity = 0;
    bool keyword_only = false;

    if (!take(&r, '('))
        bad_schema(&r, "'(' is missing");
    while (!take(&r, ')')) {
        if (schema->n_args != 0 || keyword_only)
            take(&r, ',');
        if (take(&r, '*')) {
            keyword_only = true;
            continue;
        }
        args = nuc_grow(cx, args, &capacity, schema->n_args + 1, sizeof *args);
        struct nuc_schema_arg *arg = &args[schema->n_args++];
        arg->keyword_only = keyword_only;
        read_type(&r, arg);
        arg->name = take_word(&r);
        if (take(&r, '='))
            read_default(&r, arg);
    }
    skip_spaces(&r);
    if (strncmp(r.p, "->", 2) != 0)
        bad_schema(&r, "'->' is missing");
    r.p += 2;
    schema->returns_list = take(&r, 'l');
    schema->n_returns = schema->returns_list ? 0 : (uint32_t)strtoul(r.p, NULL, 10);
    schema->args = args;
    return schema;
}

/* The parsed schemas hang off the context: one table for all graphs. */
const struct nuc_schema *nuc_op_schema(struct nuc_context *cx, enum nuc_op op)
{
    if (cx->schemas == NULL) {
        struct nuc_arena *current = cx->arena;
        cx->arena = nuc_root_arena(cx);
        cx->schemas = nuc_alloc_array(cx, NUC_OP_COUNT, sizeof *cx->schemas);
        cx->arena = current;
    }
    if (cx->schemas[op] == NULL) {
        struct nuc_arena *current = cx->arena;
        cx->arena = nuc_root_arena(cx);
        cx->schemas[op] = read_schema(cx, rows[op].schema);
        cx->arena = current;
    }
    return cx->schemas[op];
}

int nuc_schema_arg_index(const struct nuc_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (strcmp(schema->args[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}
