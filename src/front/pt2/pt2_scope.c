/* The values of a graph of the archive: by name, and of complex ones the parts. */
#include <stdlib.h>
#include <string.h>

#include "front/pt2/importer.h"
#include "ir/args.h"

/* ---- what is complex ---- */

static bool is_complex_value(const struct nuc_json *value)
{
    struct nuc_json dtype = nuc_json_maybe_member(value, "dtype");

    return dtype.type == NUC_JSON_INTEGER && nuc_is_complex_dtype(nuc_json_int(&dtype));
}

static bool has_complex(const struct nuc_scope *scope)
{
    for (size_t i = 0; i < scope->n_values; i++) {
        const struct nuc_json value = {.file = scope->graph.file,
                                       .parent = &scope->tensor_values,
                                       .token = scope->tokens[i],
                                       .type = nuc_json_text_type(scope->graph.file->text, scope->tokens[i])};
        if (is_complex_value(&value))
            return true;
    }
    return false;
}

bool nuc_names_complex(const struct nuc_importer *im, const struct nuc_json *value)
{
    struct nuc_json name = nuc_json_maybe_member(value, "name");
    const char *text = nuc_json_maybe_text(&name);

    if (text != NULL) {
        struct nuc_json meta = nuc_json_entry(&im->scope->tensor_values, text);
        return is_complex_value(&meta);
    }
    for (size_t i = 0, n = value->type == NUC_JSON_ARRAY ? nuc_json_count(value) : 0; i < n; i++) {
        struct nuc_json item = nuc_json_item(value, i);
        if (nuc_names_complex(im, &item))
            return true;
    }
    if (value->type != NUC_JSON_OBJECT || nuc_json_maybe_count(value) != 1)
        return false;
    struct nuc_json member = nuc_json_union(value);
    return strcmp(member.key, "as_complex") == 0 || nuc_names_complex(im, &member);
}

bool nuc_has_complex_result(const struct nuc_importer *im, const struct nuc_json *json)
{
    struct nuc_json outputs = nuc_json_field(json, "outputs");

    return nuc_names_complex(im, &outputs);
}

bool nuc_has_complex_operand(const struct nuc_importer *im, const struct nuc_json *json)
{
    struct nuc_json inputs = nuc_json_field(json, "inputs");

    for (size_t i = 0, count = nuc_json_count(&inputs); i < count; i++) {
        struct nuc_json input = nuc_json_item(&inputs, i), arg = nuc_json_field(&input, "arg");
        if (nuc_names_complex(im, &arg))
            return true;
    }
    return false;
}

bool nuc_is_complex_call(const struct nuc_importer *im, const struct nuc_json *json)
{
    return nuc_has_complex_result(im, json) || nuc_has_complex_operand(im, json);
}

/* ---- names ---- */

struct nuc_scope *nuc_open_scope(struct nuc_context *cx, struct nuc_json graph)
{
    struct nuc_scope *scope = nuc_alloc(cx, sizeof *scope);
    const struct nuc_json_text *text = graph.file->text;

    scope->graph = graph;
    scope->tensor_values = nuc_json_field(&scope->graph, "tensor_values");
    if (scope->tensor_values.type != NUC_JSON_OBJECT)
        nuc_json_fail(&scope->tensor_values, NUC_BAD_INPUT, "is not an object");
    scope->n_values = nuc_json_text_count(text, scope->tensor_values.token);
    scope->tokens = nuc_alloc_array(cx, scope->n_values, sizeof *scope->tokens);
    scope->nodes = nuc_alloc_array(cx, scope->n_values, sizeof(struct nuc_node *));
    /* The text has a key and its value in turn. */
    uint32_t token = nuc_json_text_first(scope->tensor_values.token);
    for (size_t i = 0; i < scope->n_values; i++) {
        scope->tokens[i] = token + 1;
        token = nuc_json_text_next(text, token + 1);
    }
    scope->has_complex = has_complex(scope);
    return scope;
}

static int compare_tokens(const void *key, const void *item)
{
    uint32_t a = *(const uint32_t *)key, b = *(const uint32_t *)item;

    return (a > b) - (a < b);
}

struct nuc_node **nuc_scope_slot(const struct nuc_scope *scope, const char *name)
{
    uint32_t token = nuc_json_text_member(scope->graph.file->text, scope->tensor_values.token, name);

    if (token == 0)
        return NULL;
    const uint32_t *found = bsearch(&token, scope->tokens, scope->n_values, sizeof *scope->tokens, compare_tokens);
    return found == NULL ? NULL : &scope->nodes[found - scope->tokens];
}

const char *nuc_unused_name(const struct nuc_importer *im, const struct nuc_json *name)
{
    const char *text = nuc_json_string(name);

    if (text[0] == '\0')
        nuc_json_fail(name, NUC_BAD_INPUT, "the name is empty");
    struct nuc_node *other = im->scope->is_region ? NULL : nuc_find_node(im->g, text);
    if (nuc_find_value(im, text) != NULL || (other != NULL && nuc_is_placeholder(other)))
        nuc_json_fail(name, NUC_BAD_INPUT, "the name '%s' is used twice", text);
    /* A graph inside of this one has the same name for a value of its own. */
    if (other != NULL)
        nuc_rename(im->g, other, nuc_format(im->cx, "%s_inside", text));
    return text;
}

void nuc_name_value(const struct nuc_importer *im, const char *name, struct nuc_node *node)
{
    struct nuc_node **slot = nuc_scope_slot(im->scope, name);

    if (slot != NULL)
        *slot = node;
}

/* ---- parts ---- */

void nuc_set_parts(struct nuc_importer *im, struct nuc_node *node, struct nuc_node *real, struct nuc_node *imaginary)
{
    if (node->id >= im->n_parts) {
        const size_t count = (size_t)node->id + 1, had = im->n_parts;
        im->parts = nuc_grow(im->cx, im->parts, &im->parts_capacity, count, sizeof *im->parts);
        memset(im->parts + had, 0, (count - had) * sizeof *im->parts);
        im->n_parts = count;
    }
    im->parts[node->id][0] = real;
    im->parts[node->id][1] = imaginary;
}

bool nuc_has_parts(const struct nuc_importer *im, const struct nuc_node *node)
{
    return node->id < im->n_parts && im->parts[node->id][0] != NULL;
}

static struct nuc_node *zeros_like(struct nuc_importer *im, struct nuc_node *node)
{
    struct nuc_node *last = im->g->last, *reader = nuc_is_call(last) && last->n_vals == 0 ? last : NULL;
    struct nuc_node *zeros = nuc_add_node(im->g, reader, NUC_OP_ZEROS_LIKE, nuc_format(im->cx, "%s_zeros", node->name));

    nuc_set_arg_node(zeros, im->g, NUC_SELF, node);
    nuc_set_val(im->g, zeros, &node->vals[0]);
    nuc_made_of(zeros, node);
    return zeros;
}

struct nuc_node *nuc_part_of(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *name)
{
    if (nuc_has_parts(im, node)) {
        if (im->part == NUC_PART_NONE)
            nuc_json_fail(name, NUC_UNSUPPORTED, "'%s' is complex: read it by torch.view_as_real(), abs() or angle()",
                          node->name);
        return im->parts[node->id][im->part == NUC_PART_IMAGINARY];
    }
    return im->part == NUC_PART_IMAGINARY ? zeros_like(im, node) : node;
}

struct nuc_node *nuc_find_value(const struct nuc_importer *im, const char *name)
{
    struct nuc_node **slot = nuc_scope_slot(im->scope, name);

    return slot != NULL ? *slot : NULL;
}

struct nuc_node *nuc_named_value(struct nuc_importer *im, const struct nuc_json *name)
{
    const char *text = nuc_json_string(name);
    struct nuc_node *node = nuc_find_value(im, text);
    const bool found = node != NULL && node->n_vals != 0; /* 0: the node itself, whose arguments are being read */
    im->misses_value |= !found;
    if (!found)
        nuc_json_fail(name, NUC_BAD_INPUT, "there is no value '%s' in front of this", text);
    return nuc_part_of(im, node, name);
}
