/*
 * The command line: one table of options (cli_options.c), one of commands (main.c). An option is a row that says what
 * it is called, which commands have it and where in struct cli_args it is written, most often into the compiler's
 * options.
 */
#ifndef NUC_TOOLS_CLI_ARGUMENTS_COMMAND_ARGS_H
#define NUC_TOOLS_CLI_ARGUMENTS_COMMAND_ARGS_H

#include <stdio.h>

#include "nucleon/evaluate.h"
#include "nucleon/options.h"
#include "nucleon/tune.h"
#include "tools/cli/terminal/cli.h"

/* The commands of an option's row, as bits. */
enum {
    COMPILE = 1 << 0,
    CONVERT = 1 << 1,
    QUANTIZE = 1 << 2,
    RUN = 1 << 3,
    EVALUATE = 1 << 4,
    EXPLAIN = 1 << 5,
    INSPECT = 1 << 6,
    CODEGEN = 1 << 7,
    MERGE = 1 << 8,
    OPS = 1 << 9,
    TARGETS = 1 << 10,
    VERSION = 1 << 11,
    TUNE = 1 << 12,
    REPORT = 1 << 13,
    MERGE_EVALUATIONS = 1 << 20,
    KERNELS = 1 << 21,
    PLAN = 1 << 22,
    PACK = 1 << 23,
    COMPARE_DEVICE = 1 << 24
};

#define CLI_LIST_MAX 8192 /* classes, for instance */
#define CLI_MAX_ARGUMENTS 4096
#define CLI_LISTS 6 /* options that are lists */
#define CLI_MAX_OPTIONS 128

/* What a command was given. Members that no option wrote have their defaults. */
struct cli_args {
    const struct cli_commands *all;
    const struct cli_command *command;
    const char *positional[CLI_MAX_ARGUMENTS];
    size_t n_positional;
    struct nuc_options o;
    struct nuc_explain_options explain;
    struct nuc_convert_model_options convert;
    struct nuc_simulator_options simulator;
    struct nuc_tune_options tune;
    float min_sqnr[1];
    size_t n_min_sqnr;
    struct nuc_evaluate_options evaluate;
    const char *input, *output, *calibration, *reference, *quantized, *etdump, *etrecord, *name, *compare, *shard,
        *device, *project, *signature;
    uint64_t cycle_budget;
    unsigned threshold, program_version, self_test, baud;
    enum nuc_inspect_form form;
    bool confusion, disassemble, markdown, verbose, quiet, help, timings, profile, json;
    enum cli_color color;
    const char *const *excluded_passes;
    size_t n_excluded_passes;

    int argc; /* as they were given, the command first */
    char **argv;

    /* For cli_parse(). */
    bool given[CLI_MAX_OPTIONS];         /* by row */
    const char *values[CLI_MAX_OPTIONS]; /* as they were given */
    const char *lists[CLI_LISTS][CLI_LIST_MAX];
    size_t n_lists;
};

/*
 * Files are checked against each other: none is written that is another one, too. What is written can be written there,
 * by what is known before the work.
 */
enum cli_file { CLI_NO_FILE, CLI_READ, CLI_WRITTEN, CLI_FOLDER /* of files that are written; made when missing */ };

/* What must hold for an option to have an effect, as bits; else its use is noted. */
enum {
    CLI_AN_NPU = 1 << 0,         /* of the target, and in use */
    CLI_FLOAT_MODEL = 1 << 1,    /* that is quantized */
    CLI_FREE_TO_CHOOSE = 1 << 2, /* no --reference-compat, which says how */
    CLI_FREE_PLACEMENT = 1 << 3, /* no option that puts all on the NPU that it takes */
    CLI_SDK_3_1 = 1 << 4,        /* as --converter-flavor */
    CLI_A_CONVERTER = 1 << 5,    /* of its own, --converter */
    CLI_A_REFERENCE = 1 << 6,
    CLI_A_QUANTIZED = 1 << 7,
    CLI_LABELS = 1 << 8, /* of the data set; refused without them */
    CLI_LABELS_OR_REFERENCE = 1 << 12,
    CLI_ONE_RULE_SET = 1 << 10,
    CLI_A_PROFILE = 1 << 13,
    CLI_IMAGES = 1 << 11 /* as data: the library notes these */
};

struct cli_option {
    const char *name; /* "--output"; NULL: no option but a heading of the help, in `help` */
    unsigned commands;
    enum nuc_option_kind kind; /* a list may be given several times */
    size_t offset, size;       /* of the member of struct cli_args */
    const char *argument;      /* in the help: "FILE"; NULL for a flag */
    const char *help;
    const char *alias;          /* "-o" or NULL */
    size_t count;               /* offset of the count of floats and lists */
    unsigned value;             /* `set` of struct nuc_option_info; in a row of a flag 0 stands for true */
    bool shared;                /* a row of the library, from which what is above and below comes */
    const char *const *choices; /* NULL-terminated; of a string: words that mean the default */
    const char *missing;        /* the command must be given it: what is said when it is not */
    enum cli_file file;
    unsigned needs;
    void (*list)(void);                   /* prints what may be given, for the argument "help" */
    const char *(*name_at)(size_t index); /* what may be given, where the library knows; NULL after the last one */
};

extern const struct cli_option *const cli_options;
extern const size_t cli_n_options;

/* Before anything else: takes over what the library says about its options. */
void cli_complete_options(void);

struct cli_command {
    const char *group; /* heading in the list of commands before this one; NULL: as the one before */
    const char *name;
    unsigned bit;
    int (*run)(struct cli_args *args); /* NULL: all of it is done with a compiler */
    int (*with_compiler)(struct nuc_compiler *c, struct cli_args *args);
    const char *brief;     /* in the list of commands */
    const char *arguments; /* "MODEL.pt2 -o OUT.pte" */
    const char *summary;
    const char *examples; /* lines that a test runs as they are */
    size_t min_arguments, max_arguments;
    const char *what; /* the argument is a file that is read: what messages call it; NULL: it is not checked */
};

/* All of them: what main() hands to whoever lists commands. */
struct cli_commands {
    const struct cli_command *rows;
    size_t count;
};

/* Fills `args`. With *stop the work is done, --help for instance, or a mistake was reported; returns the exit code. */
int cli_parse(const struct cli_commands *all, const struct cli_command *command, int argc, char **argv,
              struct cli_args *args, bool *stop);

/* What ends a command, in the order of the codes. */
struct cli_exit_code {
    enum cli_exit code;
    const char *meaning;
};
extern const struct cli_exit_code cli_exit_codes[];
extern const size_t cli_n_exit_codes;

/* ---- help (help.c) ---- */

/* What an option takes, of those that take one of several words; NULL after the last one. */
const char *cli_choice_at(const struct cli_option *o, size_t index);

void cli_print_help(const struct cli_command *command);
void cli_print_commands(const struct cli_commands *all);

/* Text of several lines in lines of 80 columns: `first` stands before the first one, `indent` spaces before others. */
void cli_print_wrapped(const char *first, size_t indent, const char *text);

/* ---- values (argument_values.c) ---- */

/* The value is written where the option's row says: CLI_OK, CLI_LISTED, or what was reported. */
int cli_set_option(struct cli_args *args, const struct cli_option *o, char *text);

/* An argument was answered with a list: the command does not run. */
enum { CLI_LISTED = -1 };

bool cli_has_option(const struct cli_command *command, const struct cli_option *o);
/* The command's next option from row *at of the table on, which moves behind it; NULL after the last one. *heading is
 * set where a group begins on the way: the last one is the option's. */
const struct cli_option *cli_next_option(const struct cli_command *command, size_t *at, const char **heading);

/* Of the files: CLI_OK, or the exit code of what was reported. */
int cli_check_files(const struct cli_args *args);

/* One note that names the options in use that need what is not there: one of the bits above. */
void cli_warn_unused_options(const struct cli_args *args, unsigned needs, const char *why);

/* The notes that follow from target and options alone, for the commands that place operators. */
int cli_warn_for_target(struct nuc_compiler *c, const struct cli_args *args);

/*
 * The options of `commands` that make `o` of `from`, each with its value as words for a shell, a line break between
 * two; the caller frees the text. NULL: memory is exhausted.
 */
char *cli_options_text(struct nuc_compiler *c, unsigned commands, const struct nuc_options *o,
                       const struct nuc_options *from);

/* Runs fn on a compiler with the options, which it frees; returns the exit code. */
int cli_with_compiler(struct cli_args *args, int (*fn)(struct nuc_compiler *c, struct cli_args *args));

#endif
