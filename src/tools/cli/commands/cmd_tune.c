/* nucleon tune: the table of trials, the command of the best one, and its program. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nucleon/json.h"
#include "tools/cli/commands/commands.h"
#include "tools/cli/terminal/json_output.h"
#include "tools/cli/terminal/signals.h"

enum { WIDTH = 80, FIGURES = 46, ACCURACY = 8 };

/* ---- the table ---- */

/* The end of a line of at most `room` columns that ends at a `separator`; without one, NULL unless all fits. */
static char *end_of_line(char *line, size_t room, char separator)
{
    char *end = NULL;

    for (char *p = line; (size_t)(p - line) <= room; p++) {
        if (*p == '\0')
            return p;
        if (*p == separator)
            end = p;
    }
    return end;
}

/* Takes a line of at most `room` columns, where that is possible, off *text: whole options, else whole words. */
static char *cut_line(char **text, size_t room)
{
    char *line = *text, *end = end_of_line(line, room, '\n');

    if (end == NULL)
        end = end_of_line(line, room, ' ');
    if (end == NULL)
        end = line + strcspn(line, " \n");
    *text = *end == '\0' ? end : end + 1;
    *end = '\0';
    for (char *p = line; *p != '\0'; p++)
        *p = *p == '\n' ? ' ' : *p;
    return line;
}

static int print_trial(struct nuc_compiler *c, const struct cli_args *args, const struct nuc_tune_result *r,
                       size_t index)
{
    const struct nuc_tune_trial *trial = &r->trials[index];
    size_t room = WIDTH - 1 - 2 - FIGURES - (r->has_accuracy ? ACCURACY : 0);
    /* What the trial has other than the options that were given. */
    char *label = cli_options_text(c, COMPILE, &trial->options, &args->o), *rest = label;

    if (label == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    const char *first = *label == '\0' ? "as given" : cut_line(&rest, room);
    cli_printf("%c %-*s", index == r->best ? '*' : trial->unrivalled ? '+' : ' ', (int)room, first);
    if (trial->compiled) {
        if (isnan(trial->sqnr))
            cli_printf(" %*s", 7, "-");
        else if (isinf(trial->sqnr))
            cli_printf(" %*s", 7, trial->sqnr > 0 ? "equal" : "-inf");
        else
            cli_printf(" %*.2f", 7, trial->sqnr);
        if (r->has_accuracy)
            cli_printf(" %6.2f%%", 100 * trial->accuracy);
        cli_printf(" %11s %9s %9s %5.1f\n", trial->cycles != 0 ? cli_commas(trial->cycles) : "-",
                   cli_commas(trial->memory), cli_commas(trial->program), trial->seconds);
    } else
        cli_printf(" not possible\n");
    while (*rest != '\0')
        cli_printf("  %s\n", cut_line(&rest, room));
    const char *before = index > 0 ? r->trials[index - 1].reason : NULL;
    if (trial->reason != NULL && before != NULL && strcmp(trial->reason, before) == 0)
        cli_printf("      as above\n");
    else if (trial->reason != NULL) {
        char copy[1024];
        snprintf(copy, sizeof copy, "%s", trial->reason);
        for (char *text = copy; *text != '\0';)
            cli_printf("      %s\n", cut_line(&text, WIDTH - 1 - 6));
    }
    free(label);
    return CLI_OK;
}

static int print_table(struct nuc_compiler *c, const struct cli_args *args, const struct nuc_tune_result *r)
{
    size_t room = WIDTH - 1 - 2 - FIGURES - (r->has_accuracy ? ACCURACY : 0);
    int code = CLI_OK;

    cli_printf("  %-*s %7s%s %11s %9s %9s %5s\n", (int)room, "options", "SQNR dB", r->has_accuracy ? "   top-1" : "",
               "cycles", "memory", "program", "s");
    for (size_t i = 0; i < r->n_trials && code == CLI_OK; i++)
        code = print_trial(c, args, r, i);
    return code;
}

/* ---- the command ---- */

/* What makes the program, in parts that a shell takes on lines of their own; the caller frees it. */
static char *command_text(struct nuc_compiler *c, const struct cli_args *args, const struct nuc_tune_trial *trial)
{
    struct nuc_options standard;
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    nuc_options_default(&standard);
    char *options = cli_options_text(c, COMPILE, &trial->options, &standard);
    if (to == NULL || options == NULL) {
        free(options);
        return NULL;
    }
    fputs("nucleon compile\n", to);
    cli_print_word(to, args->positional[0]);
    if (args->calibration != NULL) {
        fputs("\n--calibration ", to);
        cli_print_word(to, args->calibration);
    }
    fprintf(to, "%s%s\n-o ", *options != '\0' ? "\n" : "", options);
    cli_print_word(to, args->output != NULL ? args->output : "best.pte");
    free(options);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- JSON ---- */

/* On one line, as it may be given to a shell. NULL as `text` is none. */
static char *joined(char *text)
{
    for (char *p = text; p != NULL && (p = strchr(p, '\n')) != NULL;)
        *p = ' ';
    return text;
}

/* With texts by trial: options, then commands. */
static int add_json(struct nuc_compiler *c, const struct cli_args *args, const struct nuc_tune_result *r)
{
    char **texts = calloc(2 * r->n_trials + 1, sizeof *texts);
    const char *const *given = (const char *const *)texts, *text;
    bool is_whole = texts != NULL;

    for (size_t i = 0; texts != NULL && i < r->n_trials; i++) {
        texts[i] = joined(cli_options_text(c, COMPILE, &r->trials[i].options, &args->o));
        texts[r->n_trials + i] = joined(command_text(c, args, &r->trials[i]));
        is_whole = is_whole && texts[i] != NULL && texts[r->n_trials + i] != NULL;
    }
    int code = is_whole ? cli_result(c, nuc_tune_json(c, r, given, given + r->n_trials, &text), &text)
                        : cli_report(NUC_NO_MEMORY, NULL);
    for (size_t i = 0; texts != NULL && i < 2 * r->n_trials; i++)
        free(texts[i]);
    free(texts);
    return code;
}

/* Where a trial has more decibels than the best one: why it is not that. */
static bool has_doubtful_gain(const struct nuc_tune_result *r)
{
    for (size_t i = 0; i < r->n_trials && r->best < r->n_trials; i++) {
        const struct nuc_tune_trial *t = &r->trials[i], *best = &r->trials[r->best];
        if (t->reason == NULL && t->sqnr - best->sqnr >= 0.1 && t->cycles == best->cycles && t->memory == best->memory)
            return true;
    }
    return false;
}

/* ---- the command line's side ---- */

static int print_result(struct nuc_compiler *c, const struct cli_args *args, const struct nuc_tune_result *r)
{
    int code = args->quiet ? CLI_OK : print_table(c, args, r);

    if (code != CLI_OK)
        return code;
    if (!args->quiet) {
        cli_printf("* best   + every other one is worse in SQNR, cycles or memory\n");
        if (has_doubtful_gain(r))
            cli_printf("more dB than the best one's is no gain: samples differ about it by more\n");
        if (r->calibrated_on)
            cli_printf("%zu trials, compared on the sample that calibrates: give others with --dataset\n", r->n_trials);
        else if (r->split)
            cli_printf("%zu trials; samples: %zu calibrate, %zu others are compared\n", r->n_trials, r->n_calibration,
                       r->n_compared);
        else if (r->n_calibration > 0)
            cli_printf("%zu trials; samples: %zu calibrate, %zu of the data set are compared\n", r->n_trials,
                       r->n_calibration, r->n_compared);
        else
            cli_printf("%zu trials of a quantized model: there is no float one to compare with\n", r->n_trials);
    }
    if (r->best < r->n_trials) {
        char *command = command_text(c, args, &r->trials[r->best]);
        if (command == NULL)
            return cli_report(NUC_NO_MEMORY, NULL);
        for (size_t i = 0; i < r->n_changes; i++)
            cli_printf("for the caller: %s\n", r->changes[i]);
        /* In lines of 80 columns, continued as a shell continues them, where its parts are short enough. */
        size_t column = 0;
        for (char *part = strtok(command, "\n"); part != NULL; part = strtok(NULL, "\n")) {
            size_t length = strlen(part);
            if (column > 0 && column + 1 + length > WIDTH - 3) {
                cli_printf(" \\\n    ");
                column = 4;
            } else if (column > 0) {
                cli_put(" ");
                column++;
            }
            cli_put(part);
            column += length;
        }
        cli_put("\n");
        free(command);
    }
    return CLI_OK;
}

/* With what the command says, so that it makes the same bytes. */
static int write_best(const struct cli_args *args, const struct nuc_tune_trial *best)
{
    struct nuc_compiler *c = nuc_compiler_new(&best->options, NULL);

    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    cli_watch(c);
    int code = cli_check(c, nuc_compile_file(c, args->positional[0], args->calibration, args->output));
    cli_json_take(c, false);
    cli_unwatch(c);
    nuc_compiler_free(c);
    return code;
}

static int tune(struct nuc_compiler *c, struct cli_args *args)
{
    struct nuc_tune_result r;
    struct nuc_model *m;
    int code = cli_warn_for_target(c, args);

    if (code != CLI_OK)
        return code;
    enum nuc_status status = nuc_model_open(c, args->positional[0], &m);
    if (status == NUC_OK)
        status = nuc_tune(m, args->calibration, &args->tune, &r);
    if (status != NUC_OK)
        return cli_check(c, status);
    code = args->json ? add_json(c, args, &r) : print_result(c, args, &r);
    if (code == CLI_OK && r.best == r.n_trials)
        return cli_missed("%s: no trial keeps the limits; the nearest: %.700s", args->positional[0], r.unmet);
    if (code == CLI_OK && args->output != NULL)
        code = write_best(args, &r.trials[r.best]);
    return code;
}

int cli_tune(struct cli_args *args)
{
    const char *held[CLI_MAX_OPTIONS];

    for (size_t i = 0; i < cli_n_options; i++) {
        if (args->given[i])
            held[args->tune.n_held++] = cli_options[i].name;
    }
    args->tune.held = held;
    args->tune.has_min_sqnr = args->n_min_sqnr > 0;
    args->tune.min_sqnr = (double)args->min_sqnr[0];
    if (args->cycle_budget != UINT64_MAX)
        args->tune.cycle_budget = args->cycle_budget;
    cli_draw_alone(); /* trials are made side by side in processes */
    return cli_with_compiler(args, tune);
}
