/* The explanation as a table for terminals. */
#include <string.h>

#include "compiler/report/explain.h"
#include "host/file.h"

/* Columns of a row; the operator's and the node's texts are cut to their width. */
enum { WIDTH = 120, WHERE = 6, OPERATOR = 34, NODE = 38, SOURCE = 24, CYCLES = 12 };

void nuc_print_column(struct nuc_text *out, const char *text, size_t width, size_t head)
{
    size_t length = strlen(text);

    if (length <= width)
        nuc_text_addf(out, "%-*s ", (int)width, text);
    else
        nuc_text_addf(out, "%.*s..%s ", (int)head, text, text + length - (width - 2 - head));
}

/* Cut in the middle: both ends tell nodes apart. */
static void add_column(struct nuc_text *out, const char *text, size_t width)
{
    nuc_print_column(out, text, width, (width - 2) / 2);
}

static const char *with_commas(struct nuc_context *cx, uint64_t value)
{
    char digits[32], grouped[48];
    size_t length = 0, k = 0;

    do {
        digits[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = length; i > 0; i--) {
        grouped[k++] = digits[i - 1];
        if (i > 1 && (i - 1) % 3 == 0)
            grouped[k++] = ',';
    }
    grouped[k] = '\0';
    return nuc_strdup(cx, grouped);
}

/* "model.py:23": the last part of the path. */
static const char *source_text(struct nuc_context *cx, const struct nuc_source *source)
{
    return source->file == NULL ? "-" : nuc_format(cx, "%s:%d", nuc_base_name(source->file), source->line);
}

/* Words of `text` after a label, broken before the last column; words longer than a line are broken inside. */
static void add_paragraph(struct nuc_text *out, const char *label, const char *text)
{
    enum { INDENT = 7, LABEL = 9 };
    size_t column = INDENT + LABEL;

    nuc_text_addf(out, "%*s%-*s", INDENT, "", LABEL, label);
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        word = word > WIDTH - INDENT - LABEL ? WIDTH - INDENT - LABEL : word;
        if (column + word > WIDTH) {
            nuc_text_addf(out, "\n%*s", INDENT + LABEL, "");
            column = INDENT + LABEL;
        }
        nuc_text_addf(out, "%.*s", (int)word, text);
        text += word;
        column += word;
        if (*text == ' ' && column < WIDTH) {
            nuc_text_addf(out, " ");
            column++;
        }
        text += strspn(text, " ");
    }
    nuc_text_addf(out, "\n");
}

static bool is_text(const char *text)
{
    return text != NULL && *text != '\0';
}

static void add_reason(struct nuc_text *out, const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    const struct nuc_decision *d = row->decision;
    struct nuc_context *cx = out->cx;

    if (row->in_float)
        add_paragraph(out, "float",
                      "the CPU has no int8 kernel for it: it computes in float between dequantize and "
                      "quantize operators");
    add_paragraph(out, "rule", d->rule);
    if (is_text(d->actual))
        add_paragraph(out, "found", d->actual);
    if (is_text(d->limit))
        add_paragraph(out, "allowed", d->limit);
    if (d->because != NULL)
        add_paragraph(out, "because", nuc_format(cx, "it goes where %s goes", d->because->name));
    if (is_text(d->fix))
        add_paragraph(out, "fix", d->fix);
    if (e->target->npu_name != NULL && row->is_operator && row->cpu_cycles > row->npu_cycles)
        add_paragraph(out, "lost",
                      nuc_format(cx, "about %s cycles", with_commas(cx, row->cpu_cycles - row->npu_cycles)));
}

static void add_row(struct nuc_text *out, const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    uint64_t cycles = row->partition != NULL ? row->npu_cycles : row->cpu_cycles;

    add_column(out, row->partition != NULL ? row->partition : "CPU", WHERE);
    add_column(out, nuc_short_op_name(nuc_node_op_name(row->node)), OPERATOR);
    add_column(out, row->node->name, NODE);
    add_column(out, source_text(out->cx, &row->node->source), SOURCE);
    nuc_text_addf(out, "%*s\n", CYCLES, with_commas(out->cx, cycles));
    /* Without an NPU every row would say so. */
    if (row->partition == NULL && (e->target->npu_name != NULL || row->in_float))
        add_reason(out, e, row);
}

static void add_head(struct nuc_text *out, const struct nuc_explanation *e)
{
    nuc_text_addf(out, "%s: %u of %u operators on the NPU in %u partition%s\n", e->file, e->n_delegated, e->n_operators,
                  e->n_partitions, e->n_partitions == 1 ? "" : "s");
    nuc_text_addf(out, "target %s, rules of %s; cycles are those of a model (docs/cycle-model.md)\n", e->target->name,
                  e->flavor->name);
    if (e->made_up_ranges)
        nuc_text_addf(out, "quantized with made-up ranges, of one random sample: rules about shared scales and clipped "
                           "ranges\nmay decide otherwise with calibration data\n");
    nuc_text_addf(out, "\n");
    add_column(out, "where", WHERE);
    add_column(out, "operator", OPERATOR);
    add_column(out, "node", NODE);
    add_column(out, "source", SOURCE);
    nuc_text_addf(out, "%*s\n", CYCLES, "cycles");
}

static void add_summary(struct nuc_text *out, const struct nuc_explanation *e)
{
    struct nuc_context *cx = out->cx;
    uint64_t total = e->npu_cycles + e->cpu_cycles;

    nuc_text_addf(out, "\nabout %s cycles per inference, %.3g ms at %.0f MHz: NPU %s, CPU %s\n", with_commas(cx, total),
                  (double)total / e->target->clock_hz * 1e3, e->target->clock_hz * 1e-6, with_commas(cx, e->npu_cycles),
                  with_commas(cx, e->cpu_cycles));
    if (e->format_cycles > 0)
        nuc_text_addf(out, "of these, NPU %s to change formats at the boundaries of partitions\n",
                      with_commas(cx, e->format_cycles));
    if (e->n_delegated < e->n_operators && e->target->npu_name != NULL)
        nuc_text_addf(out, "%u operator%s on the CPU, about %s cycles more than on the NPU\n",
                      e->n_operators - e->n_delegated, e->n_operators - e->n_delegated == 1 ? "" : "s",
                      with_commas(cx, e->lost_cycles));
    if (e->target->cpu != NULL && e->n_delegated < e->n_operators)
        nuc_text_addf(out, "on the CPU %u in int8 and %u in float\n", e->n_operators - e->n_delegated - e->n_float,
                      e->n_float);
    if (e->greedy_cycles > 0 && e->cost_cycles > 0)
        nuc_text_addf(out, "about %s cycles with --placement greedy, %s with --placement cost\n",
                      with_commas(cx, e->greedy_cycles), with_commas(cx, e->cost_cycles));
}

const char *nuc_explain_text(struct nuc_context *cx, const struct nuc_explanation *e, bool all)
{
    struct nuc_text out;

    nuc_text_init(&out, cx);
    add_head(&out, e);
    for (uint32_t i = 0; i < e->n_rows; i++) {
        if (all || e->rows[i].is_operator)
            add_row(&out, e, &e->rows[i]);
    }
    add_summary(&out, e);
    return nuc_text_string(&out);
}
