/* A program file as a tree, and the tree as text. */
#include <string.h>

#include "archive/json_build.h"
#include "archive/program_view.h"
#include "data/metadata.h"
#include "inspect/inspect.h"
#include "inspect/inspect_forms.h"

/* The word of a kind in the tree, and its line in the text. */
struct kind {
    const char *name, *text;
};

static const struct kind value_kinds[] = {
    [NUC_VALUE_NONE] = {"none", "None"},
    [NUC_VALUE_INT] = {"int", "int {value}"},
    [NUC_VALUE_BOOL] = {"bool", "bool {value}"},
    [NUC_VALUE_DOUBLE] = {"double", "double {value:g}"},
    [NUC_VALUE_TENSOR] = {"tensor", "{dtype}{sizes} dim order {dim_order}"},
    [NUC_VALUE_STRING] = {"string", "string '{value}'"},
    [NUC_VALUE_INTS] = {"ints", "ints in values {items}"},
    [NUC_VALUE_DOUBLES] = {"doubles", "doubles {value}"},
    [NUC_VALUE_BOOLS] = {"bools", "bools {value}"},
    [NUC_VALUE_TENSORS] = {"tensors", "tensors in values {items}"},
    [NUC_VALUE_OPTIONAL_TENSORS] = {"optional_tensors", "tensors in values {items}"},
    {"other", "unknown kind {number}"},
};

static const struct kind instruction_kinds[] = {
    [NUC_INSTRUCTION_KERNEL] = {"kernel", "{operator} {args}"},
    [NUC_INSTRUCTION_DELEGATE] = {"delegate", "delegate {delegate} {args}"},
    [NUC_INSTRUCTION_MOVE] = {"move", "move {args:,}"},
    [NUC_INSTRUCTION_JUMP_FALSE] = {"jump_if_false", "jump if false {args:,}"},
    [NUC_INSTRUCTION_FREE] = {"free", "free {args:,}"},
    {"other", "unknown instruction {number}"},
};

#define COUNT(rows) (sizeof rows / sizeof rows[0])

/* ---- tree ---- */

/* The kind's word; of a kind that a newer schema may have, its number as well. */
static void put_kind(struct nuc_context *cx, json_t *out, const struct kind *kinds, size_t count, uint8_t kind)
{
    bool known = kind + 1u < count && kinds[kind].name != NULL;

    nuc_put_string(cx, out, "kind", kinds[known ? kind : count - 1].name);
    if (!known)
        nuc_put_int(cx, out, "number", kind);
}

static void put_list(struct nuc_context *cx, json_t *out, const char *key, struct nuc_view_list list, bool doubles)
{
    json_t *items = nuc_put_array(cx, out, key);

    for (uint32_t i = 0; i < list.count; i++) {
        if (doubles)
            nuc_put_double(cx, items, NULL, nuc_view_double(list, i));
        else
            nuc_put_int(cx, items, NULL, nuc_view_int(list, i));
    }
}

static void put_text(struct nuc_context *cx, json_t *out, const char *key, struct nuc_view_list text)
{
    nuc_put_string(cx, out, key, nuc_view_text(cx, text));
}

static void put_tensor(struct nuc_context *cx, json_t *out, const struct nuc_view_tensor *t)
{
    nuc_put_string(cx, out, "dtype", t->dtype == NUC_DTYPE_COUNT ? "other" : nuc_dtype_name(t->dtype));
    put_list(cx, out, "sizes", t->sizes, false);
    put_list(cx, out, "dim_order", t->dim_order, false);
    if (t->planned) {
        nuc_put_int(cx, out, "memory", t->memory);
        nuc_put_int(cx, out, "offset", (int64_t)(t->offset & INT64_MAX));
    } else if (t->constant != 0) {
        nuc_put_int(cx, out, "constant", t->constant);
    }
}

static void put_value(struct nuc_context *cx, json_t *out, const struct nuc_view_value *v)
{
    put_kind(cx, out, value_kinds, COUNT(value_kinds), v->kind);
    switch (v->kind) {
    case NUC_VALUE_INT:
        nuc_put_int(cx, out, "value", v->u.i);
        break;
    case NUC_VALUE_BOOL:
        nuc_put_bool(cx, out, "value", v->u.b);
        break;
    case NUC_VALUE_DOUBLE:
        nuc_put_double(cx, out, "value", v->u.f);
        break;
    case NUC_VALUE_TENSOR:
        put_tensor(cx, out, &v->u.tensor);
        break;
    case NUC_VALUE_STRING:
        put_text(cx, out, "value", v->u.list);
        break;
    case NUC_VALUE_DOUBLES:
        put_list(cx, out, "value", v->u.list, true);
        break;
    case NUC_VALUE_BOOLS:
        put_list(cx, out, "value", v->u.list, false);
        break;
    case NUC_VALUE_INTS:
    case NUC_VALUE_TENSORS:
    case NUC_VALUE_OPTIONAL_TENSORS: /* items are values of their own */
        put_list(cx, out, "items", v->u.list, false);
        break;
    default:
        break;
    }
}

static void put_instruction(struct nuc_context *cx, json_t *out, const struct nuc_view_method *m,
                            const struct nuc_view_instruction *in)
{
    put_kind(cx, out, instruction_kinds, COUNT(instruction_kinds), in->kind);
    if (in->kind == NUC_INSTRUCTION_KERNEL) {
        put_text(cx, out, "operator", m->operators[in->index].name);
        put_text(cx, out, "overload", m->operators[in->index].overload);
    } else if (in->kind == NUC_INSTRUCTION_DELEGATE) {
        nuc_put_int(cx, out, "delegate", in->index);
    }
    if (in->kind == NUC_INSTRUCTION_KERNEL || in->kind == NUC_INSTRUCTION_DELEGATE) {
        put_list(cx, out, "args", in->args, false);
    } else if (in->kind > 0 && in->kind < NUC_INSTRUCTION_KINDS) {
        json_t *args = nuc_put_array(cx, out, "args");
        nuc_put_int(cx, args, NULL, in->words[0]);
        nuc_put_int(cx, args, NULL, in->words[1]);
    }
}

static void put_delegate(const struct nuc_inspection *in, json_t *out, const struct nuc_view_delegate *d)
{
    put_text(in->cx, out, "backend", d->backend);
    nuc_put_int(in->cx, out, "bytes", (int64_t)d->data.size);
    json_t *specs = nuc_put_array(in->cx, out, "compile_specs");
    for (uint32_t i = 0; i < d->n_specs; i++) {
        json_t *spec = nuc_put_object(in->cx, specs, NULL);
        put_text(in->cx, spec, "key", d->specs[i].key);
        put_text(in->cx, spec, "value", d->specs[i].value);
    }
    if (nuc_view_is(d->backend, "NeutronBackend"))
        nuc_inspect_payload(in, d->data, nuc_put_object(in->cx, out, "payload"));
}

/* What keeps its bytes from run to run. */
static void put_states(struct nuc_context *cx, json_t *list, const struct nuc_view_method *m)
{
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct nuc_view_tensor *t = &m->values[i].u.tensor;
        if (m->values[i].kind != NUC_VALUE_TENSOR || !t->planned || t->constant == 0)
            continue;
        json_t *state = nuc_put_object(cx, list, NULL);
        int64_t bytes = (int64_t)nuc_dtype_size(t->dtype);
        for (uint32_t d = 0; d < t->sizes.count; d++) {
            if (__builtin_mul_overflow(bytes, nuc_view_int(t->sizes, d), &bytes))
                bytes = INT64_MAX;
        }
        put_text(cx, state, "name", t->name);
        nuc_put_int(cx, state, "value", i);
        nuc_put_int(cx, state, "bytes", bytes);
    }
}

static void put_method(const struct nuc_inspection *in, json_t *out, const struct nuc_view_method *m)
{
    struct nuc_context *cx = in->cx;

    put_text(cx, out, "name", m->name);
    put_list(cx, out, "inputs", m->inputs, false);
    put_list(cx, out, "outputs", m->outputs, false);
    put_list(cx, out, "planned_memory", m->planned, false);
    put_states(cx, nuc_put_array(cx, out, "states"), m);
    /* What a runtime must have registered to load the method: each operator of its table once, "aten::add.out". */
    json_t *list = nuc_put_array(cx, out, "kernels");
    for (uint32_t i = 0; i < m->n_operators; i++)
        nuc_put_text(cx, list, NULL, nuc_view_operator_name(cx, &m->operators[i]));
    json_t *values = nuc_put_array(cx, out, "values");
    for (uint32_t i = 0; i < m->n_values; i++)
        put_value(cx, nuc_put_object(cx, values, NULL), &m->values[i]);
    json_t *chains = nuc_put_array(cx, out, "chains");
    for (uint32_t k = 0; k < m->n_chains; k++) {
        json_t *instructions = nuc_put_array(cx, chains, NULL);
        for (uint32_t i = 0; i < m->chains[k].n_instructions; i++)
            put_instruction(cx, nuc_put_object(cx, instructions, NULL), m, &m->chains[k].instructions[i]);
    }
    json_t *delegates = nuc_put_array(cx, out, "delegates");
    for (uint32_t i = 0; i < m->n_delegates; i++)
        put_delegate(in, nuc_put_object(cx, delegates, NULL), &m->delegates[i]);
}

void nuc_inspect_program(const struct nuc_inspection *in, struct nuc_span bytes, json_t *out)
{
    const struct nuc_program_view *view = nuc_program_view_open(in->cx, in->file, bytes);

    if (view->has_header) {
        nuc_put_int(in->cx, out, "program_bytes", (int64_t)view->program_bytes);
        nuc_put_int(in->cx, out, "segments_at", (int64_t)(view->segments_at & INT64_MAX));
    }
    nuc_put_int(in->cx, out, "schema_version", view->schema_version);
    nuc_put_int(in->cx, out, "segments", view->n_segments);
    nuc_put_int(in->cx, out, "constants", view->n_constants);
    if (view->n_named > 0) {
        json_t *list = nuc_put_array(in->cx, out, "named_data");
        for (uint32_t i = 0; i < view->n_named; i++) {
            json_t *item = nuc_put_object(in->cx, list, NULL);
            put_text(in->cx, item, "key", view->named[i].key);
            nuc_put_int(in->cx, item, "bytes", (int64_t)view->named[i].data.size);
            if (nuc_view_is(view->named[i].key, NUC_METADATA_KEY)) {
                /* The facts as they are in the file, or why they are none. */
                const char *why;
                const struct nuc_metadata *facts = nuc_metadata_read(in->cx, view->named[i].data, &why);
                if (facts != NULL)
                    nuc_metadata_put(in->cx, facts, nuc_put_object(in->cx, item, "facts"));
                else
                    nuc_put_string(in->cx, item, "damaged", why);
            }
        }
    }
    json_t *methods = nuc_put_array(in->cx, out, "methods");
    for (uint32_t i = 0; i < view->n_methods; i++)
        put_method(in, nuc_put_object(in->cx, methods, NULL), &view->methods[i]);
    json_t *list = nuc_put_array(in->cx, out, "lint");
    uint32_t count;
    const struct nuc_lint_finding *findings = nuc_lint_program(in->cx, view, &count);
    for (uint32_t i = 0; i < count; i++) {
        json_t *finding = nuc_put_object(in->cx, list, NULL);
        nuc_put_int(in->cx, finding, "instruction", findings[i].instruction);
        nuc_put_string(in->cx, finding, "what", findings[i].what);
        nuc_put_string(in->cx, finding, "rule", findings[i].rule);
    }
}

/* ---- text ---- */

static void print_kind(struct nuc_text *out, const json_t *object, const struct kind *kinds)
{
    const char *name = json_string_value(json_object_get(object, "kind"));

    while (kinds->name == NULL || strcmp(kinds->name, name) != 0)
        kinds++;
    nuc_print_members(out, object, kinds->text);
}

static void print_value(struct nuc_text *out, const json_t *value)
{
    print_kind(out, value, value_kinds);
    if (json_object_get(value, "dtype") == NULL)
        return;
    if (json_object_get(value, "memory") != NULL)
        nuc_print_members(out, value, ", memory {memory} at {offset}");
    else if (json_object_get(value, "constant") != NULL)
        nuc_print_members(out, value, ", constant {constant}");
    else
        nuc_text_addf(out, ", memory of the caller");
}

static void print_instruction(struct nuc_text *out, const json_t *instruction)
{
    const char *overload = json_string_value(json_object_get(instruction, "overload"));

    if (overload != NULL && *overload != '\0')
        nuc_print_members(out, instruction, "{operator}.{overload} {args}");
    else
        print_kind(out, instruction, instruction_kinds);
}

static void print_delegate(struct nuc_text *out, const json_t *delegate)
{
    const json_t *specs = json_object_get(delegate, "compile_specs"), *payload = json_object_get(delegate, "payload");

    nuc_print_members(out, delegate, "{backend}, {bytes} bytes\n");
    for (size_t i = 0; i < json_array_size(specs); i++)
        nuc_print_members(out, json_array_get(specs, i), "      {key} = '{value}'\n");
    if (payload != NULL)
        nuc_print_payload(out, payload);
}

/* A line for each item of a member that is a list: `before` with its number, then what `print` says. */
static void print_items(struct nuc_text *out, const json_t *list, const char *before, const char *after,
                        void (*print)(struct nuc_text *, const json_t *))
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        nuc_text_addf(out, "%s%zu: ", before, i);
        print(out, json_array_get(list, i));
        nuc_text_addf(out, "%s", after);
    }
}

/* Where the object has the member: the template, of it and others. */
static void print_if(struct nuc_text *out, const json_t *object, const char *member, const char *template)
{
    if (json_object_get(object, member) != NULL)
        nuc_print_members(out, object, template);
}

static void print_input_facts(struct nuc_text *out, const json_t *input)
{
    print_if(out, input, "name", "{name}");
    print_if(out, input, "least", ", {least:6} to {most:6} in calibration");
}

static void print_output_facts(struct nuc_text *out, const json_t *output)
{
    const json_t *classes = json_object_get(output, "classes");

    print_if(out, output, "name", "{name}");
    if (classes != NULL)
        nuc_text_addf(out, ", %zu classes: ", json_array_size(classes));
    print_if(out, output, "classes", "{classes:t}");
}

static void print_named(struct nuc_text *out, const json_t *named)
{
    const json_t *facts = json_object_get(named, "facts"), *target = json_object_get(facts, "target");

    nuc_print_members(out, named, "named data '{key}', {bytes} bytes");
    print_if(out, named, "damaged", ", damaged: {damaged}");
    nuc_text_addf(out, "\n");
    print_items(out, json_object_get(facts, "inputs"), "  input ", "\n", print_input_facts);
    print_items(out, json_object_get(facts, "outputs"), "  output ", "\n", print_output_facts);
    for (size_t i = 0; i < json_array_size(json_object_get(facts, "memories")); i++)
        nuc_print_members(out, json_array_get(json_object_get(facts, "memories"), i), "  memory {name}: {holds}\n");
    print_if(out, json_object_get(facts, "front_end"), "text", "  front end: {text}\n");
    print_if(out, target, "name", "  target {name}");
    print_if(out, target, "cpu", ", {cpu}");
    nuc_text_addf(out, target != NULL ? "\n" : "");
    print_if(out, json_object_get(facts, "images"), "mean",
             "  images: (pixel / 255 - {mean}) / {std}, resize {resize}\n");
}

void nuc_print_program(struct nuc_text *out, const json_t *tree)
{
    const json_t *methods = json_object_get(tree, "methods"), *lint = json_object_get(tree, "lint");

    if (json_object_get(tree, "package") != NULL)
        nuc_print_members(out, json_object_get(tree, "package"),
                          "package of a program: version {program_version}, program {program_bytes} bytes, "
                          "microcode {microcode_version:x}, signature {signature_bytes} bytes\n");
    nuc_print_members(out, tree, "ExecuTorch program, {bytes} bytes\n");
    print_if(out, tree, "program_bytes", "extended header: program {program_bytes} bytes, segments at {segments_at}\n");
    nuc_print_members(out, tree, "schema version {schema_version}, {segments} segments, {constants} constants\n");
    for (size_t i = 0; i < json_array_size(json_object_get(tree, "named_data")); i++)
        print_named(out, json_array_get(json_object_get(tree, "named_data"), i));
    for (size_t i = 0; i < json_array_size(methods); i++) {
        const json_t *method = json_array_get(methods, i);
        const json_t *chains = json_object_get(method, "chains"), *kernels = json_object_get(method, "kernels");
        const json_t *states = json_object_get(method, "states");
        nuc_print_members(
            out, method,
            "method '{name}'\n  inputs {inputs}, outputs {outputs}\n  planned memory, bytes {planned_memory}\n");
        for (size_t j = 0; j < json_array_size(states); j++)
            nuc_print_members(out, json_array_get(states, j), "  state '{name}', {bytes} bytes: %{value}\n");
        nuc_text_addf(out, "  kernels to register%s\n", json_array_size(kernels) == 0 ? ": none" : "");
        for (size_t j = 0; j < json_array_size(kernels); j++)
            nuc_text_addf(out, "    %s\n", json_string_value(json_array_get(kernels, j)));
        nuc_text_addf(out, "  values\n");
        print_items(out, json_object_get(method, "values"), "    %", "\n", print_value);
        for (size_t k = 0; k < json_array_size(chains); k++) {
            nuc_text_addf(out, "  instructions\n");
            print_items(out, json_array_get(chains, k), "    ", "\n", print_instruction);
        }
        print_items(out, json_object_get(method, "delegates"), "  delegate ", "", print_delegate);
    }
    for (size_t i = 0; i < json_array_size(lint); i++)
        nuc_print_members(out, json_array_get(lint, i), "lint: instruction {instruction}, {what}: {rule}\n");
    if (json_array_size(lint) == 0)
        nuc_text_addf(out, "lint: nothing that ExecuTorch's runtime is known to refuse\n");
}
