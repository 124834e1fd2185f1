/* An evaluation node by node as text of 80 columns. */
#include <string.h>

#include "tools/cli/commands/commands.h"

#define SHOWN_UNMATCHED 5

static void print_decibel(double db)
{
    char text[32];

    cli_decibel_text(db, text, sizeof text);
    cli_printf("  %9s", text);
}

static void print_unmatched(const struct nuc_node_evaluation *e)
{
    if (e->n_unmatched == 0)
        return;
    cli_printf("without a counterpart in the float model: %zu of %zu nodes\n", e->n_unmatched,
               e->n_nodes + e->n_unmatched);
    for (size_t i = 0; i < e->n_unmatched && i < SHOWN_UNMATCHED; i++)
        cli_printf("  %.76s\n", e->unmatched[i]);
    if (e->n_unmatched > SHOWN_UNMATCHED)
        cli_printf("  and %zu more\n", e->n_unmatched - SHOWN_UNMATCHED);
}

void cli_print_nodes(const struct nuc_node_evaluation *e, size_t n_samples, double threshold)
{
    const struct nuc_node_score *diverging = NULL;
    size_t n_rescaled = 0;

    cli_printf("\nSQNR in dB, %zu sample%s\n%-32s  %9s  %9s  %9s\n", n_samples, n_samples == 1 ? "" : "s", "node",
               "quantized", "program", "program");
    cli_printf("%-32s  %9s  %9s  %9s\n", "", "to float", "to quant.", "to float");
    for (size_t i = 0; i < e->n_nodes; i++) {
        const struct nuc_node_score *s = &e->nodes[i];
        /* Of a long label the end, which says more than what it has in common with others. */
        enum { WIDTH = 32 };
        size_t length = strlen(s->label), from = length > WIDTH ? length - WIDTH + 2 : 0;
        while (from > 0 && ((unsigned char)s->label[from] & 0xC0) == 0x80)
            from++;
        cli_printf("%s%-*s", from > 0 ? ".." : "", from > 0 ? WIDTH - 2 : WIDTH, s->label + from);
        double program_db = s->is_rescaled ? s->rescaled_program_db : s->float_program.sqnr_db;
        print_decibel(s->is_rescaled ? s->rescaled_quantized_db : s->float_quantized.sqnr_db);
        print_decibel(s->quantized_program.sqnr_db);
        print_decibel(program_db);
        /* What a ratio to the signal does not tell. */
        const struct nuc_deviation *d = &s->float_program;
        cli_printf("%s\n", d->n_not_finite != 0 ? "  not finite"
                           : d->signal == 0     ? "  zero"
                           : s->is_rescaled     ? "  rescaled"
                                                : "");
        n_rescaled += s->is_rescaled;
        if (diverging == NULL && program_db < threshold)
            diverging = s;
    }
    if (n_rescaled != 0)
        cli_printf("rescaled: the quantized model has these channels in other scales; compared after\n"
                   "they are scaled back\n");
    print_unmatched(e);
    if (e->n_unequal != 0)
        cli_printf("the program differs from this quantized model compiled with default options in\n"
                   "%zu of %zu outputs\n",
                   e->n_unequal, e->n_elements);
    if (diverging != NULL)
        cli_printf("first node below %.1f dB: %s\n", threshold, diverging->label);
    else
        cli_printf("no node below %.1f dB\n", threshold);
}
