/* The table of values and the arrays it points into. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/codegen/codegen_program.h"

void nuc_codegen_bytes(struct nuc_text *out, const uint8_t *bytes, size_t count)
{
    const size_t per_line = 24;

    for (size_t i = 0; i < count; i++)
        nuc_text_addf(out, "%s%u,", i % per_line == 0 ? (i == 0 ? "    " : "\n    ") : " ", bytes[i]);
    nuc_text_addf(out, "\n");
}

/* Index of the constant's block, which is made when there is none. */
static size_t block_of(struct nuc_codegen *g, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < g->n_blocks; i++) {
        if (g->blocks[i].data == data && g->blocks[i].size == size)
            return i;
    }
    g->blocks = nuc_grow(g->cx, g->blocks, &g->blocks_capacity, g->n_blocks + 1, sizeof *g->blocks);
    g->blocks[g->n_blocks] = (struct nuc_codegen_block){data, size};
    return g->n_blocks++;
}

/* ---- shapes ---- */

/* Where sizes and dim order stand in the two pools. */
static size_t pool_shape(struct nuc_codegen *g, const struct nuc_tensor *t)
{
    for (size_t at = 0; at + t->rank <= g->n_pool; at++) {
        if (t->rank == 0) /* the pools may not be there yet */
            return at;
        if (memcmp(g->size_pool + at, t->sizes, t->rank * sizeof(int32_t)) == 0 &&
            memcmp(g->order_pool + at, t->dim_order, t->rank) == 0)
            return at;
    }
    size_t at = g->n_pool, needed = at + t->rank;
    g->size_pool = nuc_grow(g->cx, g->size_pool, &g->size_capacity, needed + 1, sizeof(int32_t));
    g->order_pool = nuc_grow(g->cx, g->order_pool, &g->order_capacity, needed + 1, 1);
    memcpy(g->size_pool + at, t->sizes, t->rank * sizeof(int32_t));
    memcpy(g->order_pool + at, t->dim_order, t->rank);
    g->n_pool = needed;
    return at;
}

/* ---- values ---- */

static const char *const dtype_names[NUC_DTYPE_COUNT] = {
#define NAME(enumerator, name, size) [enumerator] = #enumerator,
    NUC_DTYPES(NAME)
#undef NAME
};

static void add_planned(struct nuc_codegen *g, struct nuc_text *out, const struct nuc_view_tensor *view, size_t bytes)
{
    const uint32_t memory = view->memory - 1;
    const char *place = nuc_format(g->cx, "memory%u + %llu", memory, (unsigned long long)view->offset);

    g->memories |= (uint64_t)1 << memory;
    nuc_text_addf(out, "%s", place);
    if (view->constant != 0) {
        /* Planned memory was zeroed before loading, which gave states their initial values. */
        const uint8_t *initial = g->loaded[memory] + view->offset;
        bool zeros = true;
        for (size_t i = 0; i < bytes && zeros; i++)
            zeros = initial[i] == 0;
        nuc_text_addf(&g->saves, "    memcpy(to->bytes + %zu, %s, %zu);\n", g->states_bytes, place, bytes);
        nuc_text_addf(&g->restores, "    memcpy(%s, from->bytes + %zu, %zu);\n", place, g->states_bytes, bytes);
        g->states_bytes += bytes;
        if (zeros)
            nuc_text_addf(&g->resets, "    memset(%s, 0, %zu);\n", place, bytes);
        else
            nuc_text_addf(&g->resets, "    memcpy(%s, %s_constant%zu, %zu);\n", place, g->name,
                          block_of(g, initial, bytes), bytes);
        g->n_states++;
    }
}

/* Items are places in the table now. Texts and numbers stay as they are. */
static void add_list(struct nuc_codegen *g, struct nuc_text *out, const struct nuc_view_value *v)
{
    struct nuc_view_list list = v->u.list;

    nuc_text_addf(out, ".u.list = {.items = lists + %zu, .count = %u}", g->lists.length, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        int64_t item = nuc_view_int(list, i);
        if (nuc_codegen_is_list(v) && item >= 0)
            item = nuc_codegen_place(g, list, i);
        for (uint32_t k = 0; k < list.size; k++)
            nuc_text_add(&g->lists, &(char){(char)(uint8_t)((uint64_t)item >> (8 * k))}, 1);
    }
}

/* Texts and lists: their items lie in the array "lists". */
static bool is_listed(uint8_t kind)
{
    return kind != NUC_VALUE_NONE && kind != NUC_VALUE_INT && kind != NUC_VALUE_BOOL && kind != NUC_VALUE_DOUBLE &&
           kind != NUC_VALUE_TENSOR;
}

static void add_value(struct nuc_codegen *g, struct nuc_text *out, uint32_t place)
{
    static const char *const kinds[] = {
        [NUC_VALUE_NONE] = "NONE",
        [NUC_VALUE_INT] = "INT",
        [NUC_VALUE_BOOL] = "BOOL",
        [NUC_VALUE_DOUBLE] = "DOUBLE",
        [NUC_VALUE_TENSOR] = "TENSOR",
        [NUC_VALUE_STRING] = "STRING",
        [NUC_VALUE_INTS] = "INTS",
        [NUC_VALUE_DOUBLES] = "DOUBLES",
        [NUC_VALUE_BOOLS] = "BOOLS",
        [NUC_VALUE_TENSORS] = "TENSORS",
        [NUC_VALUE_OPTIONAL_TENSORS] = "OPTIONAL_TENSORS",
    };
    const struct nuc_value *v = &g->values[g->value_of[place]];

    nuc_text_addf(out, "    {");
    if (v->kind == NUC_VALUE_TENSOR) {
        const struct nuc_tensor *t = &v->u.tensor;
        size_t shape = pool_shape(g, t);
        nuc_text_addf(out, ".u.tensor = {.data = ");
        const struct nuc_view_tensor *view = &g->method->values[g->value_of[place]].u.tensor;
        if (t->constant)
            nuc_text_addf(out, "(void *)%s_constant%zu", g->name, block_of(g, t->data, t->bytes));
        else if (t->planned)
            add_planned(g, out, view, t->bytes);
        else
            nuc_text_addf(out, "caller%u", place);
        nuc_text_addf(out,
                      ", .sizes = sizes + %zu, .dim_order = dim_orders + %zu, .bytes = %zu, .dtype = %s, .rank = %u",
                      shape, shape, t->bytes, dtype_names[t->dtype], t->rank);
        nuc_text_addf(out, "%s%s}", t->constant ? ", .constant = true" : "", t->planned ? ", .planned = true" : "");
    } else if (v->kind == NUC_VALUE_INT)
        nuc_text_addf(out, ".u.i = INT64_C(%" PRId64 ")%s", v->u.i == INT64_MIN ? v->u.i + 1 : v->u.i,
                      v->u.i == INT64_MIN ? " - 1" : "");
    else if (v->kind == NUC_VALUE_BOOL)
        nuc_text_addf(out, ".u.b = %s", v->u.b ? "true" : "false");
    else if (v->kind == NUC_VALUE_DOUBLE) {
        double f = v->u.f;
        if (isnan(f))
            nuc_text_addf(out, ".u.f = (double)NAN");
        else if (isinf(f))
            nuc_text_addf(out, ".u.f = %s(double)INFINITY", f < 0 ? "-" : "");
        else
            nuc_text_addf(out, ".u.f = %a", f);
    } else if (is_listed(v->kind))
        add_list(g, out, &g->method->values[g->value_of[place]]);
    nuc_text_addf(out, "%s.kind = NUC_VALUE_%s},\n", v->kind == NUC_VALUE_NONE ? "" : ", ", kinds[v->kind]);
}

/* C has no arrays without elements: where values point into one it has a zero. */
static void add_bytes(struct nuc_text *out, const char *name, const uint8_t *bytes, size_t count)
{
    static const uint8_t zero = 0;

    nuc_text_addf(out, "static const uint8_t %s[] = {\n", name);
    nuc_codegen_bytes(out, count == 0 ? &zero : bytes, count == 0 ? 1 : count);
    nuc_text_addf(out, "};\n");
}

void nuc_codegen_values(struct nuc_codegen *g, struct nuc_text *out)
{
    struct nuc_text rows = {.cx = g->cx};

    g->lists = g->resets = g->saves = g->restores = rows;
    for (uint32_t place = 0; place < g->n_used; place++)
        add_value(g, &rows, place);
    for (size_t i = 0; i < g->n_blocks; i++)
        nuc_text_addf(out, "extern const uint8_t %s_constant%zu[%zu];\n", g->name, i,
                      g->blocks[i].size > 0 ? g->blocks[i].size : 1);
    /* Memory of inputs and outputs that the program leaves to its caller. */
    for (uint32_t place = 0; place < g->n_used; place++) {
        const struct nuc_value *v = &g->values[g->value_of[place]];
        if (v->kind == NUC_VALUE_TENSOR && !v->u.tensor.constant && !v->u.tensor.planned)
            nuc_text_addf(out, "static %s_ARENA _Alignas(16) uint8_t caller%u[%zu];\n", g->upper, place,
                          v->u.tensor.bytes > 0 ? v->u.tensor.bytes : 1);
    }
    /* Only those that values point into. */
    bool tensors = false, lists = false;
    for (uint32_t place = 0; place < g->n_used; place++) {
        uint8_t kind = g->values[g->value_of[place]].kind;
        tensors = tensors || kind == NUC_VALUE_TENSOR;
        lists = lists || is_listed(kind);
    }
    if (tensors) {
        nuc_text_addf(out, "static const int32_t sizes[] = {");
        for (size_t i = 0; i < g->n_pool; i++)
            nuc_text_addf(out, "%s%d,", i % 16 == 0 ? "\n    " : " ", (int)g->size_pool[i]);
        nuc_text_addf(out, "%s};\n", g->n_pool == 0 ? "0" : "\n");
        add_bytes(out, "dim_orders", g->order_pool, g->n_pool);
    }
    if (lists)
        add_bytes(out, "lists", (const uint8_t *)g->lists.data, g->lists.length);
    nuc_text_addf(out, "static const struct nuc_value values[] = {\n%s};\n\n",
                  g->n_used > 0 ? nuc_text_string(&rows) : "    {.kind = NUC_VALUE_NONE},\n");
}
