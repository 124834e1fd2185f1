/* A confusion matrix in 80 columns. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/commands/commands.h"

enum { FEW = 20, NAME_WIDTH = 16, WIDTH = 80, PAIRS = 10 };

static uint64_t cell(const struct nuc_output_score *o, size_t label, size_t decision)
{
    return o->program_accuracy.confusion[label * o->n_classes + decision];
}

static const char *class_name(const struct nuc_evaluation *e, size_t class, char *text, size_t size)
{
    if (e->n_class_names > class)
        snprintf(text, size, "%zu %s", class, e->class_names[class]);
    else
        snprintf(text, size, "%zu", class);
    return text;
}

/* The counts where they fit into the width, else percents of the row. */
static void print_matrix(const struct nuc_evaluation *e, const struct nuc_output_score *o)
{
    uint64_t most = 0;
    char name[64];

    for (size_t i = 0; i < o->n_classes * o->n_classes; i++) {
        uint64_t n = o->program_accuracy.confusion[i];
        most = n > most ? n : most;
    }
    int width = 2; /* of the longest number and a space */
    for (uint64_t n = most > o->n_classes ? most : o->n_classes; n >= 10; n /= 10)
        width++;
    bool counts = NAME_WIDTH + width * (int)o->n_classes <= WIDTH;
    width = counts ? width : 3;
    cli_printf("\n%-*s%s\n", NAME_WIDTH, "label", counts ? "decisions" : "decisions, % of the row ('**': all)");
    cli_printf("%-*s", NAME_WIDTH, "");
    for (size_t k = 0; k < o->n_classes; k++)
        cli_printf("%*zu", width, k);
    cli_printf("\n");
    for (size_t i = 0; i < o->n_classes; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < o->n_classes; k++)
            sum += cell(o, i, k);
        cli_printf("%-*.*s", NAME_WIDTH, NAME_WIDTH - 1, class_name(e, i, name, sizeof name));
        for (size_t k = 0; k < o->n_classes; k++) {
            uint64_t n = cell(o, i, k);
            if (n == 0)
                cli_printf("%*s", width, ".");
            else if (!counts && n == sum)
                cli_printf("%*s", width, "**");
            else
                cli_printf("%*llu", width, (unsigned long long)(counts ? n : (n * 100 + sum / 2) / sum));
        }
        cli_printf("\n");
    }
}

struct pair {
    size_t label, decision;
    uint64_t n;
};

/* The wrong decisions that were taken most often. */
static void print_pairs(const struct nuc_evaluation *e, const struct nuc_output_score *o)
{
    struct pair pairs[PAIRS];
    size_t count = 0;
    char from[64], to[64];

    for (size_t i = 0; i < o->n_classes * o->n_classes; i++) {
        struct pair p = {i / o->n_classes, i % o->n_classes, o->program_accuracy.confusion[i]};
        size_t at = count;
        if (p.n == 0 || p.label == p.decision)
            continue;
        while (at > 0 && pairs[at - 1].n < p.n)
            at--;
        if (at == PAIRS)
            continue;
        count += count < PAIRS;
        memmove(&pairs[at + 1], &pairs[at], (count - 1 - at) * sizeof pairs[0]);
        pairs[at] = p;
    }
    if (count != 0)
        cli_printf("\n%-28s %-28s %10s\n", "label", "decision", "times");
    for (size_t i = 0; i < count; i++)
        cli_printf("%-28.28s %-28.28s %10llu\n", class_name(e, pairs[i].label, from, sizeof from),
                   class_name(e, pairs[i].decision, to, sizeof to), (unsigned long long)pairs[i].n);
}

void cli_print_confusion(const struct nuc_evaluation *e, const struct nuc_output_score *o, bool demanded)
{
    if (o->program_accuracy.confusion == NULL || (!demanded && o->n_classes > FEW))
        return;
    if (o->n_classes <= FEW)
        print_matrix(e, o);
    else
        print_pairs(e, o);
}
