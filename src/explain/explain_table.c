/*
 * The table of an explanation. By default a row is a run of operators in one partition, or an operator of the model
 * that stays on the CPU together with what goes with it; with --all every node has a row.
 */
#include <string.h>

#include "explain/explain_lines.h"

/* Columns, each with a space after it; they add up to the width of a line. */
enum { WHERE = 6, OPERATOR = 18, MODULE = 22, SOURCE = 15, CYCLES = 10, SHARE = 4 };

/* The lines below a row: a label and words. */
enum { INDENT = 7, LABEL = 9 };

static void add_column(struct nuc_text *out, const char *text, size_t width)
{
    nuc_text_add_column(out, text, width, (width - 2) / 2);
}

/* Nothing when there is no text: of what does no work and is nowhere. */
static void add_reason(struct nuc_text *out, const char *label, const char *text)
{
    if (!nuc_is_text(text))
        return;
    nuc_text_addf(out, "%*s%-*s", INDENT, "", LABEL, label);
    nuc_print_words(out, INDENT + LABEL, INDENT + LABEL, text);
}

/* Where the model says nothing of modules, its label is all there is: a LiteRT tensor, or the name of the call. */
static const char *module_text(const struct nuc_node *node)
{
    const struct nuc_source *source = node->source;

    if (nuc_is_text(source->module))
        return source->module;
    if (source->module == NULL && source->label != NULL)
        return source->label;
    return source->file == NULL && source->call != NULL ? source->call : "-";
}

/* More digits than the column has take from the one in front of it. */
static void add_last_columns(struct nuc_text *out, const struct nuc_explanation *e, const char *text, size_t width,
                             uint64_t cycles)
{
    const uint64_t all = nuc_explained_cycles(e);
    const char *number = nuc_with_commas(out->cx, cycles);
    size_t length = strlen(number);

    add_column(out, text, length > CYCLES ? width - (length - CYCLES) : width);
    nuc_text_addf(out, "%*s %*.0f%%\n", CYCLES, number, SHARE - 1, all > 0 ? 100 * (double)cycles / (double)all : 0.0);
}

/* The first two columns; a long tag takes of the second. */
static void add_first_columns(struct nuc_text *out, const char *where, const char *operator_text)
{
    size_t length = strlen(where), width = length > WHERE ? length : WHERE;

    add_column(out, where, width);
    add_column(out, operator_text, OPERATOR + WHERE - width);
}

static void add_line(struct nuc_text *out, const struct nuc_explanation *e, const char *where,
                     const struct nuc_node *node, uint64_t cycles)
{
    add_first_columns(out, where, nuc_written_operator(out->cx, node));
    add_column(out, module_text(node), MODULE);
    add_last_columns(out, e, nuc_source_text(out->cx, node->source), SOURCE, cycles);
}

/* ---- reasons ---- */

static bool is_same_text(const char *a, const char *b)
{
    return nuc_is_text(a) ? nuc_is_text(b) && strcmp(a, b) == 0 : !nuc_is_text(b);
}

bool nuc_is_alike(struct nuc_context *cx, const struct nuc_explanation *e, uint32_t a, uint32_t b)
{
    const struct nuc_explain_row *x = &e->rows[e->causes[a].root], *y = &e->rows[e->causes[b].root];

    /* Neighbours that are there for the cost of all of them. */
    if (x->decision->by_cost && y->decision->by_cost)
        return x->in_float == y->in_float && is_same_text(x->decision->actual, y->decision->actual) &&
               is_same_text(x->decision->limit, y->decision->limit);
    return x->in_float == y->in_float && is_same_text(x->decision->rule, y->decision->rule) &&
           is_same_text(x->decision->limit, y->decision->limit) && e->causes[a].trial == e->causes[b].trial &&
           strcmp(nuc_written_operator(cx, x->node), nuc_written_operator(cx, y->node)) == 0;
}

/* Without an NPU that was asked every row would say so. */
static bool has_reason(const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    return row->partition == NULL && (e->delegates || row->in_float);
}

/* ---- an operator on the CPU and what goes with it ---- */

/* Names with how often they occur, in the order in which they come first. */
struct names {
    struct nuc_context *cx;
    uint32_t n;
    size_t capacity;
    struct name {
        const char *text;
        uint32_t count;
    } * items;
};

static void count_name(struct names *names, const char *text)
{
    uint32_t i = 0;

    while (i < names->n && strcmp(names->items[i].text, text) != 0)
        i++;
    if (i == names->n) {
        names->items = nuc_grow(names->cx, names->items, &names->capacity, (size_t)names->n + 1, sizeof *names->items);
        names->items[names->n++] = (struct name){text, 0};
    }
    names->items[i].count++;
}

static const char *names_text(const struct names *names)
{
    enum { MOST = 8 };
    struct nuc_text text = {.cx = names->cx};

    for (uint32_t i = 0; i < names->n && i < MOST; i++) {
        nuc_text_addf(&text, "%s%s", i > 0 ? ", " : "", names->items[i].text);
        if (names->items[i].count > 1)
            nuc_text_addf(&text, " (%u)", names->items[i].count);
    }
    if (names->n > MOST)
        nuc_text_addf(&text, ", ...");
    return nuc_text_string(&text);
}

static void add_followers(struct nuc_text *out, const struct nuc_explanation *e, uint32_t index)
{
    const struct nuc_explain_cause *cause = &e->causes[index];
    const struct nuc_node *root = e->rows[cause->root].node;
    struct names parts = {.cx = out->cx}, others = {.cx = out->cx};
    uint32_t n_others = cause->n_rows - cause->n_parts;

    for (uint32_t i = 0; i < e->n_rows; i++) {
        if (e->rows[i].cause != index)
            continue;
        if (nuc_is_same_call(e->rows[i].node, root))
            count_name(&parts, nuc_part_name(out->cx, e->rows[i].node));
        else
            count_name(&others, nuc_written_operator(out->cx, e->rows[i].node));
    }
    if (cause->n_parts > 1)
        add_reason(out, "parts", nuc_format(out->cx, "%u operators: %s", cause->n_parts, names_text(&parts)));
    if (n_others > 0)
        add_reason(out, "with",
                   nuc_format(out->cx, "%u operator%s that go%s where it goes, %s of these cycles: %s", n_others,
                              n_others == 1 ? "" : "s", n_others == 1 ? "es" : "",
                              nuc_with_commas(out->cx, cause->follow_cycles), names_text(&others)));
}

/* In place of the reasons of a cause: where the same were given. What was found matters where it is a number. */
static void add_likeness(struct nuc_text *out, const struct nuc_explanation *e, uint32_t index, uint32_t earlier)
{
    struct nuc_context *cx = out->cx;
    const struct nuc_explain_cause *cause = &e->causes[index], *like = &e->causes[earlier];
    const struct nuc_explain_row *root = &e->rows[cause->root], *other = &e->rows[like->root];
    const struct nuc_source *source = other->node->source;
    const char *module = nuc_is_text(source->module) ? nuc_shortened(cx, source->module, MODULE) : NULL;
    bool places, other_places;
    const char *found = nuc_found_text(cx, e, root->decision, &places);
    const char *other_found = nuc_found_text(cx, e, other->decision, &other_places);
    struct nuc_text line = {.cx = cx};

    nuc_text_addf(&line, "%s above", module != NULL ? module : nuc_source_text(cx, source));
    if (!places && !other_places && !is_same_text(found, other_found))
        nuc_text_addf(&line, ", found %s", found);
    if (cause->n_rows > cause->n_parts)
        nuc_text_addf(&line, ", with %u operator%s", cause->n_rows - cause->n_parts,
                      cause->n_rows - cause->n_parts == 1 ? "" : "s");
    add_reason(out, "as in", nuc_text_string(&line));
}

static void add_cause(struct nuc_text *out, const struct nuc_explanation *e, uint32_t index, bool *printed)
{
    struct nuc_context *cx = out->cx;
    const struct nuc_explain_cause *cause = &e->causes[index];
    const struct nuc_explain_row *root = &e->rows[cause->root];
    uint32_t earlier = 0;

    /* The first cause that is alike, where that was printed before. */
    while (earlier < e->n_causes && !(printed[earlier] && nuc_is_alike(cx, e, earlier, index)))
        earlier++;
    printed[index] = true;
    add_line(out, e, "CPU", root->node, cause->part_cycles + cause->follow_cycles);
    if (earlier < e->n_causes) {
        add_likeness(out, e, index, earlier);
        return;
    }
    add_reason(out, "why", nuc_reason_text(cx, e, root));
    if (cause->trial != NUC_NO_TRIAL)
        add_reason(out, "fix", nuc_fix_text(cx, e, cause->trial, root));
    else if (e->has_trials && !root->decision->by_cost)
        add_reason(out, "fix", nuc_no_fix_text(cx, e, index));
    add_followers(out, e, index);
}

/* ---- runs ---- */

/* Operators of one place, a partition or the CPU, between two causes, which need no words. */
struct run {
    uint32_t first, last; /* rows */
    uint32_t n_operators, n_calls;
    uint64_t cycles;
};

static bool needs_no_words(const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    return row->is_operator && (row->cause == NUC_NO_CAUSE || !has_reason(e, &e->rows[e->causes[row->cause].root]));
}

static bool is_in_run(const struct nuc_explanation *e, uint32_t row, uint32_t first)
{
    const char *a = e->rows[row].partition, *b = e->rows[first].partition;

    return needs_no_words(e, &e->rows[row]) && (a == NULL || b == NULL ? a == b : strcmp(a, b) == 0);
}

/* The run that begins with row `first`, of rows below `end`. */
static struct run run_of(const struct nuc_explanation *e, uint32_t first, uint32_t end)
{
    struct run run = {.first = first, .last = first};

    for (uint32_t i = first; i < end; i++) {
        if (!is_in_run(e, i, first))
            continue;
        run.n_calls += i == first || !nuc_is_same_call(e->rows[run.last].node, e->rows[i].node);
        run.n_operators += nuc_is_counted(e->rows[i].node);
        run.cycles += e->rows[i].cycles;
        run.last = i;
    }
    return run;
}

/* Each operator of the model has a line, whatever it became. */
static void add_short_run(struct nuc_text *out, const struct nuc_explanation *e, const struct run *run)
{
    const struct nuc_explain_row *first = &e->rows[run->first];
    const char *where = first->partition != NULL ? first->partition : "CPU";
    uint64_t cycles = 0;

    for (uint32_t i = run->first; i <= run->last; i++) {
        const struct nuc_explain_row *row = &e->rows[i];
        if (!is_in_run(e, i, run->first))
            continue;
        if (!nuc_is_same_call(row->node, first->node)) {
            add_line(out, e, where, first->node, cycles);
            first = row;
            cycles = 0;
        }
        cycles += row->cycles;
    }
    add_line(out, e, where, first->node, cycles);
}

static const char *from_to(struct nuc_context *cx, const char *first, const char *last)
{
    enum { ROOM = MODULE + 1 + SOURCE, HALF = (ROOM - 4) / 2 };

    const char *own = last;

    /* Where it differs from the first one: after the last dot of what they have in common. */
    for (size_t i = 0; first[i] != '\0' && first[i] == last[i]; i++)
        own = last[i] == '.' ? last + i : own;
    if (strcmp(first, last) == 0)
        return first;
    if (strlen(first) + strlen(last) + 4 <= ROOM)
        return nuc_format(cx, "%s .. %s", first, last);
    if (strlen(first) + strlen(own) + 4 <= ROOM)
        return nuc_format(cx, "%s .. %s", first, own);
    return nuc_format(cx, "%s .. %s", nuc_shortened(cx, first, HALF), nuc_shortened(cx, own, HALF));
}

/* From the first module to the last one, or lines of the source where the modules are not known. */
static const char *place_of_run(struct nuc_context *cx, const struct nuc_explanation *e, const struct run *run)
{
    const char *first = NULL, *last = NULL;

    for (uint32_t i = run->first; i <= run->last; i++) {
        const char *module = e->rows[i].node->source->module;
        if (!is_in_run(e, i, run->first) || !nuc_is_text(module))
            continue;
        first = first == NULL ? module : first;
        last = module;
    }
    if (first != NULL)
        return from_to(cx, first, last);
    const struct nuc_node *begin = e->rows[run->first].node, *end = e->rows[run->last].node;
    if (begin->source->file == NULL && end->source->file == NULL)
        return from_to(cx, module_text(begin), module_text(end));
    return from_to(cx, nuc_source_text(cx, begin->source), nuc_source_text(cx, end->source));
}

/* The runs among rows from `first` to `end`, none of which is a cause: long ones of a partition in one line. */
static void add_runs(struct nuc_text *out, const struct nuc_explanation *e, uint32_t first, uint32_t end, bool *printed)
{
    enum { MOST_LINES = 3 };

    for (uint32_t i = first; i < end; i++) {
        if (printed[i] || !needs_no_words(e, &e->rows[i]))
            continue;
        struct run run = run_of(e, i, end);
        if (run.n_calls <= MOST_LINES || e->rows[i].partition == NULL) {
            add_short_run(out, e, &run);
        } else {
            add_first_columns(out, e->rows[i].partition, nuc_format(out->cx, "%u operators", run.n_operators));
            add_last_columns(out, e, place_of_run(out->cx, e, &run), MODULE + 1 + SOURCE, run.cycles);
        }
        for (uint32_t k = i; k <= run.last; k++)
            printed[k] = printed[k] || is_in_run(e, k, i);
    }
}

/* ---- what is no operator's ---- */

/* Work of one kind in one place. */
struct beside {
    const char *where, *one, *several, *about;
    uint32_t count;
    uint64_t cycles;
};

enum { CALLS, FORMATS, NPU_SCALES, QUANTIZED, INPUTS, DEQUANTIZED, OUTPUTS, COPIES, N_BESIDE };

static void add_beside(struct beside *b, uint32_t count, uint64_t cycles)
{
    b->count += cycles > 0 ? count : 0;
    b->cycles += cycles;
}

/* The rest of the cycles: with --all quantize and dequantize nodes have rows of their own. */
static void add_boundaries(struct nuc_text *out, const struct nuc_explanation *e, bool all)
{
    static const int of_kind[] = {[NUC_BOUNDARY_CALL] = CALLS,
                                  [NUC_BOUNDARY_FORMAT] = FORMATS,
                                  [NUC_BOUNDARY_QUANTIZE] = QUANTIZED,
                                  [NUC_BOUNDARY_DEQUANTIZE] = DEQUANTIZED,
                                  [NUC_BOUNDARY_COPY] = COPIES};
    struct beside beside[N_BESIDE] = {
        [CALLS] = {"NPU", "call", "calls", "driver, caches, interrupt", 0, 0},
        [FORMATS] = {"NPU", "format change", "format changes", "kernels at boundaries of partitions", 0, 0},
        [NPU_SCALES] = {"NPU", "scale change", "scale changes", "kernels inside of partitions", 0, 0},
        [QUANTIZED] = {"CPU", "quantize", "quantize", "values from float", 0, 0},
        [INPUTS] = {"CPU", "quantize", "quantize", "inputs from float, none with --io int8", 0, 0},
        [DEQUANTIZED] = {"CPU", "dequantize", "dequantize", "values to float", 0, 0},
        [OUTPUTS] = {"CPU", "dequantize", "dequantize", "outputs to float, none with --io int8", 0, 0},
        [COPIES] = {"CPU", "copy", "copies", "values that are read in another order", 0, 0},
    };

    for (uint32_t i = 0; i < e->n_boundaries; i++) {
        const struct nuc_explain_boundary *b = &e->boundaries[i];
        add_beside(&beside[of_kind[b->kind] + nuc_goes_with_int8_io(b->kind, b->value)], b->count, b->cycles);
    }
    for (uint32_t i = 0; !all && i < e->n_rows; i++) {
        const struct nuc_explain_row *row = &e->rows[i];
        enum nuc_boundary_kind of = nuc_is_quantize(row->node) ? NUC_BOUNDARY_QUANTIZE : NUC_BOUNDARY_DEQUANTIZE;
        int kind = row->partition != NULL ? NPU_SCALES : of_kind[of] + nuc_goes_with_int8_io(of, row->node);
        if (!row->is_operator)
            add_beside(&beside[kind], 1, row->cycles);
    }
    for (uint32_t i = 0; i < N_BESIDE; i++) {
        const struct beside *b = &beside[i];
        if (b->count == 0)
            continue;
        add_first_columns(out, b->where, nuc_format(out->cx, "%u %s", b->count, b->count == 1 ? b->one : b->several));
        add_last_columns(out, e, b->about, MODULE + 1 + SOURCE, b->cycles);
    }
}

void nuc_print_explain_table(struct nuc_text *out, const struct nuc_explanation *e, bool all)
{
    nuc_text_addf(out, "\n");
    add_column(out, "where", WHERE);
    add_column(out, "operator", OPERATOR);
    add_column(out, "module", MODULE);
    add_column(out, "source", SOURCE);
    nuc_text_addf(out, "%*s\n", CYCLES, "cycles");
    for (uint32_t i = 0; all && i < e->n_rows; i++) {
        const struct nuc_explain_row *row = &e->rows[i];
        struct nuc_context *cx = out->cx;
        const char *name = nuc_short_op_name(nuc_node_op_name(row->node));
        const char *label = e->labels.of[row->node->id];
        size_t room = NUC_LINE_WIDTH - INDENT - 1, most = (room - 1) / 2;
        size_t name_room = strlen(row->node->name) < most ? room - strlen(row->node->name) : most;
        add_line(out, e, row->partition != NULL ? row->partition : "CPU", row->node, row->cycles);
        name = nuc_shortened(cx, name, name_room);
        nuc_text_addf(out, "%*s%s %s\n", INDENT, "", name, nuc_shortened(cx, row->node->name, room - strlen(name)));
        if (strcmp(label, row->node->name) != 0)
            add_reason(out, "label", label);
        if (!has_reason(e, row))
            continue;
        if (row->decision->because != NULL)
            add_reason(out, "because",
                       nuc_format(cx, "it goes where %s goes", nuc_place_text(cx, row->decision->because)));
        else
            add_reason(out, "why", nuc_reason_text(cx, e, row));
        if (row->cause != NUC_NO_CAUSE && e->causes[row->cause].trial != NUC_NO_TRIAL)
            add_reason(out, "fix", nuc_fix_text(cx, e, e->causes[row->cause].trial, row));
    }
    if (!all) {
        bool *causes = nuc_alloc_array(out->cx, (size_t)e->n_causes + 1, sizeof *causes);
        bool *rows = nuc_alloc_array(out->cx, (size_t)e->n_rows + 1, sizeof *rows);
        uint32_t from = 0;
        for (uint32_t i = 0; i < e->n_rows; i++) {
            const struct nuc_explain_row *row = &e->rows[i];
            if (row->cause == NUC_NO_CAUSE || e->causes[row->cause].root != i || !has_reason(e, row))
                continue;
            add_runs(out, e, from, i, rows);
            add_cause(out, e, row->cause, causes);
            from = i + 1;
        }
        add_runs(out, e, from, e->n_rows, rows);
    }
    add_boundaries(out, e, all);
}
