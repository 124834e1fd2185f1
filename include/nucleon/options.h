/*
 * Options by name and text, as on the command line, for scripts, other languages and configuration files. struct
 * nuc_options of compile.h has the same options as members.
 */
#ifndef NUCLEON_OPTIONS_H
#define NUCLEON_OPTIONS_H

#include "nucleon/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The form of an option's text. Numbers have digits without spaces and '.' before decimals, in every locale. */
enum nuc_option_kind {
    NUC_OPTION_FLAG,    /* true or false: see nuc_option_set() */
    NUC_OPTION_STRING,  /* never empty */
    NUC_OPTION_TEXT,    /* may be empty */
    NUC_OPTION_NUMBER,  /* 0 to 1,073,741,824 */
    NUC_OPTION_COUNT,   /* the same, at least 1 */
    NUC_OPTION_CYCLES,  /* a number, with a unit or without: "300k", "1.5M" */
    NUC_OPTION_BYTES,   /* the same, at least 1: "65536", "64Ki", "64KiB", "1.5Mi"; k is 1,000, Ki 1,024 */
    NUC_OPTION_CHOICE,  /* one of the words of `choices` */
    NUC_OPTION_INTEGER, /* a sign or none, and digits */
    NUC_OPTION_REAL,    /* a finite number */
    NUC_OPTION_SHARE,   /* percent, 0 to 100 */
    NUC_OPTION_FLOATS,  /* finite numbers separated by commas, "0.485,0.456,0.406", at most as many as the member holds
                         */
    NUC_OPTION_LIST     /* words separated by commas */
};

/* An option: its name, the kind of its value, and the member of a structure that it sets. */
struct nuc_option_info {
    const char *name; /* as on the command line, without the dashes: "memory-budget" */
    enum nuc_option_kind kind;
    const char *value;          /* the placeholder of the value in help texts: "BYTES"; NULL for a flag */
    const char *help;           /* one sentence without a full stop */
    size_t offset, size;        /* of the member */
    size_t count;               /* offset of the member that counts, of floats and lists */
    const char *const *choices; /* NULL-terminated; of a choice; of a string: words that mean the default; else NULL */
    unsigned set; /* of a flag: what it sets the member to; of a choice 0, or what the first word stands for: the next
                     ones are less */
};

/*
 * The options of a compilation with their members in struct nuc_options, `index` from 0; false after the last one. The
 * strings are static.
 */
bool nuc_option_at(size_t index, struct nuc_option_info *out);

/*
 * Sets an option of the compiler. `name` is the name on the command line, with or without "--"; '_' may replace '-':
 * "target", "--memory-budget", "memory_budget". `text` is the value as on the command line. For a flag, NULL, "",
 * "true", "on", "yes" and "1" mean true. "false", "off", "no" and "0" mean false: the flag is not given, or "no-NAME"
 * is given if there is such a flag. A list replaces the previous list. The strings are copied. The option applies to
 * data sets and models that are opened later, and to calls without either. Open models keep their options.
 *
 * NUC_BAD_USAGE: the option does not exist, or the value is not valid. The message suggests a correction, and nothing
 * changes. The next call that uses the options reports contradictions.
 */
enum nuc_status nuc_option_set(struct nuc_compiler *c, const char *name, const char *text);

/* The current options of the compiler. Strings belong to the compiler, or to the caller that passed them. */
void nuc_options_now(const struct nuc_compiler *c, struct nuc_options *out);

/*
 * Returns the text for nuc_option_set() that gives the option its value in `o`. *text is NULL if the value in `from` is
 * the same, or if another option of the same member expresses it. `from` may be NULL: the defaults. The text belongs to
 * the compiler. NUC_BAD_USAGE: the option does not exist.
 */
enum nuc_status nuc_option_text(struct nuc_compiler *c, const char *name, const struct nuc_options *o,
                                const struct nuc_options *from, const char **text);

/*
 * For programs with options of their own: sets the member that `row` describes, in the structure at `members`, to the
 * value of `text`. `text` is not read for a flag. The value points into `text`, which is cut at the commas of a list.
 * The words of a list are appended to `words`, which has room for `n_words`. NUC_BAD_USAGE: the text is no value of
 * this kind; `message` then explains it in one line.
 */
#define NUC_OPTION_MESSAGE 4096
enum nuc_status nuc_option_parse(const struct nuc_option_info *row, char *text, const char **words, size_t n_words,
                                 void *members, char message[NUC_OPTION_MESSAGE]);

/*
 * Sets the callbacks for notes and progress; each may be NULL. The thread that called the compiler calls them during
 * the call. They must not call the compiler. Their text is valid until they return. `progress` as in struct
 * nuc_options.
 */
void nuc_listen(struct nuc_compiler *c, void (*warn)(void *user, const char *message),
                void (*progress)(void *user, const char *what, size_t done, size_t total), void *user);

#ifdef __cplusplus
}
#endif
#endif
