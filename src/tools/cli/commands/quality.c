/* What quantization found out about the outputs. */
#include <math.h>
#include <stdio.h>
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
        snprintf(out, 16, "%.1f dB", db);
}

/* Parts of the samples that differ by less show about the same, in dB. */
#define NARROW 3

/* "31.2 dB", "31.2 dB (27.0 to 36.1)"; "12.7 to 38.5 dB" where the lowest is the figure. */
static void figure_to(char out[48], const struct nuc_output_quality *q)
{
    char db[16], highest[16];

    db_to(highest, q->highest_db);
    db_to(db, q->sqnr_db);
    if (q->highest_db > q->lowest_db && !(q->sqnr_db > q->lowest_db))
        snprintf(out, 48, "%.1f to %s", q->lowest_db, highest);
    else if (q->highest_db - q->lowest_db > NARROW)
        snprintf(out, 48, "%s (%.1f to %.1f)", db, q->lowest_db, q->highest_db);
    else
        snprintf(out, 48, "%s", db);
}

/* So many samples tell little: the next ones may differ by decibels. */
#define FEW 8

/* " on 16 held-out samples". */
static void samples_to(char out[80], const struct nuc_output_quality *q)
{
    if (q->held_out == 0)
        snprintf(out, 80, " on the calibration sample itself");
    else
        snprintf(out, 80, " on %zu held-out samples%s", q->held_out, q->held_out < FEW ? ", too few to be sure" : "");
}

/* Every output by name, on one line; false: there is no room. */
static bool print_all(const struct nuc_compiler *c)
{
    char line[256], name[NAME + 1], db[48], samples[80] = "";
    struct nuc_output_quality q;
    size_t length = 0;

    for (size_t i = 0; nuc_quality(c, i, &q) == NUC_OK && length < WIDTH; i++) {
        if (!q.is_float)
            continue;
        name_to(name, q.name);
        figure_to(db, &q);
        samples_to(samples, &q);
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%s %s", length > 0 ? ", " : "", name, db);
    }
    bool has_room = LABEL + length + strlen(samples) <= WIDTH;
    if (length > 0 && has_room)
        cli_print_row("SQNR", "%s%s", line, samples);
    return has_room;
}

void cli_print_quality(const struct nuc_compiler *c)
{
    if (nuc_n_qualities(c) > 0 && !print_all(c)) {
        char name[NAME + 1], worst_db[48], samples[80];
        struct nuc_output_quality q, worst = {.name = NULL};
        size_t n = 0;
        for (size_t i = 0; nuc_quality(c, i, &q) == NUC_OK; i++) {
            if (!q.is_float)
                continue;
            worst = n == 0 || q.sqnr_db < worst.sqnr_db ? q : worst;
            n++;
        }
        name_to(name, worst.name);
        figure_to(worst_db, &worst);
        samples_to(samples, &worst);
        if (n == 1)
            cli_print_row("SQNR", "%s%s", worst_db, samples);
        else
            cli_print_row("SQNR", "%s %s, worst of %zu,%s", name, worst_db, n, samples);
    }
}

void cli_print_calibration(const struct nuc_compiler *c)
{
    for (size_t i = 0; nuc_calibration_line(c, i) != NULL; i++)
        cli_print_row(i == 0 ? "data" : "", "%s", nuc_calibration_line(c, i));
}
