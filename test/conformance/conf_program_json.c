/* Reading the JSON description of a program. Numbers may come as JSON numbers or as text. */
#include <stdlib.h>
#include <string.h>

#include "conf_program.h"

static const char *const kind_names[PROG_KIND_COUNT] = {
    [PROG_NONE] = "None",
    [PROG_NULL] = "Null",
    [PROG_INT] = "Int",
    [PROG_BOOL] = "Bool",
    [PROG_DOUBLE] = "Double",
    [PROG_TENSOR] = "Tensor",
    [PROG_STRING] = "String",
    [PROG_INT_LIST] = "IntList",
    [PROG_DOUBLE_LIST] = "DoubleList",
    [PROG_BOOL_LIST] = "BoolList",
    [PROG_TENSOR_LIST] = "TensorList",
    [PROG_OPTIONAL_TENSOR_LIST] = "OptionalTensorList",
};

const char *prog_kind_name(enum prog_kind kind)
{
    return (unsigned)kind < PROG_KIND_COUNT ? kind_names[kind] : "unknown";
}

static int64_t integer(const json_t *j)
{
    return json_is_string(j) ? strtoll(json_string_value(j), NULL, 10) : (int64_t)json_integer_value(j);
}

static const char *string(struct nuc_context *cx, const json_t *j)
{
    const char *s = json_string_value(j);

    return nuc_strdup(cx, s == NULL ? "" : s);
}

static int64_t *integers(struct nuc_context *cx, const json_t *list, uint32_t *count)
{
    int64_t *out = nuc_alloc_array(cx, json_array_size(list), sizeof *out);

    *count = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; i < *count; i++)
        out[i] = integer(json_array_get(list, i));
    return out;
}

/* The numbers between '[' and ']' of "IntList(items=[105, 106])"; True and False are 1 and 0. */
static void parse_items(struct nuc_context *cx, const char *text, struct prog_value *v)
{
    const char *at = strchr(text, '[');
    size_t most = 1;

    if (at == NULL)
        nuc_fail(cx, NUC_BAD_INPUT, "value '%.60s' is not a list", text);
    for (const char *p = at; *p != '\0'; p++)
        most += *p == ',';
    v->items = nuc_alloc_array(cx, most, sizeof *v->items);
    v->floats = nuc_alloc_array(cx, most, sizeof *v->floats);
    for (at++; *at != ']' && *at != '\0' && v->count < most;) {
        char *end;
        at += strspn(at, " ,");
        if (*at == ']')
            break;
        v->floats[v->count] = strtod(at, &end);
        v->items[v->count] = *at == 'T' ? 1 : strtoll(at, NULL, 10);
        v->count++;
        at += strcspn(at, ",]");
    }
}

static void read_tensor(struct nuc_context *cx, const json_t *j, struct prog_tensor *t)
{
    const json_t *alloc = json_object_get(j, "alloc");
    uint32_t n_order;

    t->dtype = integer(json_object_get(j, "dtype"));
    t->sizes = integers(cx, json_object_get(j, "sizes"), &t->rank);
    t->dim_order = integers(cx, json_object_get(j, "dim_order"), &n_order);
    if (n_order != t->rank)
        nuc_fail(cx, NUC_BAD_INPUT, "a tensor has %u sizes and a dim order of %u", t->rank, n_order);
    t->buffer = integer(json_object_get(j, "data_buffer_idx"));
    t->planned = json_is_array(alloc);
    t->memory = integer(json_array_get(alloc, 0));
    t->offset = integer(json_array_get(alloc, 1));
}

static void read_value(struct nuc_context *cx, const json_t *j, struct prog_value *v)
{
    const char *kind = string(cx, json_object_get(j, "kind"));
    const char *text = string(cx, json_object_get(j, "value"));

    for (unsigned k = 0; k < PROG_KIND_COUNT; k++) {
        if (strcmp(kind, kind_names[k]) == 0)
            v->kind = (enum prog_kind)k;
    }
    if (v->kind == PROG_NONE)
        nuc_fail(cx, NUC_BAD_INPUT, "a value has the unknown kind '%.40s'", kind);
    if (v->kind == PROG_TENSOR)
        read_tensor(cx, j, &v->tensor);
    else if (v->kind >= PROG_INT_LIST)
        parse_items(cx, text, v);
    else if (v->kind == PROG_INT)
        v->i = strtoll(text, NULL, 10);
    else if (v->kind == PROG_BOOL)
        v->i = strcmp(text, "True") == 0;
    else if (v->kind == PROG_DOUBLE)
        v->f = strtod(text, NULL);
    v->string = text;
}

static void read_call(struct nuc_context *cx, const json_t *j, struct prog_call *call)
{
    const json_t *delegate = json_object_get(j, "delegate");

    call->delegate = delegate == NULL ? -1 : integer(delegate);
    call->name = delegate == NULL ? string(cx, json_object_get(j, "kernel")) : "delegate";
    call->args = integers(cx, json_object_get(j, "args"), &call->n_args);
}

static void read_delegate(struct nuc_context *cx, const json_t *j, struct prog_delegate *d)
{
    json_t *specs = json_object_get(j, "compile_specs"), *value;
    const char *key;

    d->id = string(cx, json_object_get(j, "id"));
    d->specs = nuc_alloc_array(cx, json_object_size(specs), sizeof *d->specs);
    json_object_foreach(specs, key, value) d->specs[d->n_specs++] =
        (struct prog_spec){nuc_strdup(cx, key), string(cx, value)};
}

static uint32_t size_of(const json_t *plan, const char *key)
{
    return (uint32_t)json_array_size(json_object_get(plan, key));
}

static json_t *at(const json_t *plan, const char *key, uint32_t i)
{
    return json_array_get(json_object_get(plan, key), i);
}

struct prog *prog_from_json(struct nuc_context *cx, const char *what, const json_t *json)
{
    const json_t *plans = json_object_get(json, "plans"), *plan = json_array_get(plans, 0);
    struct prog *p = nuc_alloc(cx, sizeof *p);

    if (plan == NULL)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: no method", what);
    p->n_plans = (uint32_t)json_array_size(plans);
    p->name = string(cx, json_object_get(plan, "name"));
    p->n_values = size_of(plan, "values");
    p->values = nuc_alloc_array(cx, p->n_values, sizeof *p->values);
    for (uint32_t i = 0; i < p->n_values; i++)
        read_value(cx, at(plan, "values", i), &p->values[i]);
    p->inputs = integers(cx, json_object_get(plan, "inputs"), &p->n_inputs);
    p->outputs = integers(cx, json_object_get(plan, "outputs"), &p->n_outputs);
    p->buffers = integers(cx, json_object_get(plan, "non_const_buffer_sizes"), &p->n_buffers);
    p->n_operators = size_of(plan, "operators");
    p->operators = nuc_alloc_array(cx, p->n_operators, sizeof *p->operators);
    for (uint32_t i = 0; i < p->n_operators; i++)
        p->operators[i] = string(cx, at(plan, "operators", i));
    p->n_calls = size_of(plan, "instructions");
    p->calls = nuc_alloc_array(cx, p->n_calls, sizeof *p->calls);
    for (uint32_t i = 0; i < p->n_calls; i++)
        read_call(cx, at(plan, "instructions", i), &p->calls[i]);
    p->n_delegates = size_of(plan, "delegates");
    p->delegates = nuc_alloc_array(cx, p->n_delegates, sizeof *p->delegates);
    for (uint32_t i = 0; i < p->n_delegates; i++)
        read_delegate(cx, at(plan, "delegates", i), &p->delegates[i]);
    prog_check_indices(cx, what, p);
    return p;
}

static void check_list(struct nuc_context *cx, const char *what, const int64_t *items, uint32_t count, int64_t lowest,
                       uint32_t limit)
{
    for (uint32_t i = 0; i < count; i++) {
        if (items[i] < lowest || items[i] >= (int64_t)limit)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: index %lld is outside a table of %u", what, (long long)items[i], limit);
    }
}

void prog_check_indices(struct nuc_context *cx, const char *what, const struct prog *p)
{
    check_list(cx, what, p->inputs, p->n_inputs, 0, p->n_values);
    check_list(cx, what, p->outputs, p->n_outputs, 0, p->n_values);
    for (uint32_t i = 0; i < p->n_calls; i++) {
        check_list(cx, what, p->calls[i].args, p->calls[i].n_args, 0, p->n_values);
        check_list(cx, what, &p->calls[i].delegate, 1, -1, p->n_delegates);
    }
    for (uint32_t i = 0; i < p->n_values; i++) {
        const struct prog_value *v = &p->values[i];
        if (v->kind == PROG_INT_LIST || v->kind == PROG_TENSOR_LIST)
            check_list(cx, what, v->items, v->count, 0, p->n_values);
        if (v->kind == PROG_OPTIONAL_TENSOR_LIST)
            check_list(cx, what, v->items, v->count, -1, p->n_values);
    }
}
