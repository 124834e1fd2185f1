/* What quantization found out about the outputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/commands/commands.h"

enum { WIDTH = 79, LABEL = 12, NAME = 24 };

/* A long name's end is what tells outputs apart. */
static void name_to(char out[NAME + 1], const char *name)
{
    size_t length = strlen(name);

    snprintf(out, NAME + 1, "%s%s", length > NAME ? ".." : "", length > NAME ? name + length - (NAME - 2) : name);
}

static void db_to(char out[16], double db)
{
    if (isinf(db) && db > 0)
        snprintf(out, 16, "equal");
    else
        snprintf(out, 16, "%.2f dB", db);
}

/* Every output by name, on one line; false: there is no room. */
static bool print_all(const struct nuc_compiler *c)
{
    char line[256], name[NAME + 1], db[16];
    struct nuc_output_quality q;
    size_t length = 0, samples = 0;

    for (size_t i = 0; nuc_quality(c, i, &q) == NUC_OK && length < WIDTH; i++) {
        if (!q.is_float)
            continue;
        name_to(name, q.name);
        db_to(db, q.sqnr_db);
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%s %s", length > 0 ? ", " : "", name, db);
        samples = q.samples;
    }
    size_t all = LABEL + length + (size_t)snprintf(NULL, 0, " on %zu calibration samples", samples);
    if (length > 0 && all <= WIDTH)
        cli_print_row("SQNR", "%s on %zu calibration sample%s", line, samples, samples == 1 ? "" : "s");
    return all <= WIDTH;
}

static void print_extremes(const struct nuc_compiler *c)
{
    char name[NAME + 1], worst_db[16], best_db[16];
    struct nuc_output_quality q, worst = {.name = NULL}, best = {.name = NULL};
    size_t n = 0;

    for (size_t i = 0; nuc_quality(c, i, &q) == NUC_OK; i++) {
        if (!q.is_float)
            continue;
        worst = n == 0 || q.sqnr_db < worst.sqnr_db ? q : worst;
        best = n == 0 || q.sqnr_db > best.sqnr_db ? q : best;
        n++;
    }
    name_to(name, worst.name);
    db_to(worst_db, worst.sqnr_db);
    db_to(best_db, best.sqnr_db);
    cli_print_row("SQNR", "%s (%s) to %s: %zu outputs, %zu samples", worst_db, name, best_db, n, worst.samples);
}

void cli_print_quality(const struct nuc_compiler *c)
{
    if (nuc_n_qualities(c) > 0 && !print_all(c))
        print_extremes(c);
}

void cli_print_calibration(const struct nuc_compiler *c)
{
    for (size_t i = 0; nuc_calibration_line(c, i) != NULL; i++)
        cli_print_row(i == 0 ? "data" : "", "%s", nuc_calibration_line(c, i));
}
