/*
 * Options by name and text, as the command line has them: for scripts, other languages and configuration files. One
 * table says what there is; struct nuc_options of compile.h has the same options as members.
 */
#ifndef NUCLEON_OPTIONS_H
#define NUCLEON_OPTIONS_H

#include "nucleon/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the text of an option is. Numbers are in digits, without spaces; whatever the locale, '.' is before decimals. */
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
    NUC_OPTION_FLOATS,  /* finite numbers with commas between, "0.485,0.456,0.406", as many as the member has at most */
    NUC_OPTION_LIST     /* words, commas between */
};

/* An option: its name, what its value may be, and the member of a structure that it sets. */
/* An option: its name, what its value may be, and the member of a structure that it sets. */
struct nuc_option_info {
    const char *name; /* as on the command line, without the dashes: "memory-budget" */
    enum nuc_option_kind kind;
    const char *value;          /* what stands for the value in a help text: "BYTES"; NULL for a flag */
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
 * Sets an option of the compiler. `name` as on the command line, with "--" or without, '_' may stand for '-':
 * "target", "--memory-budget", "memory_budget". `text` is the value as on the command line. For a flag NULL, "",
 * "true", "on", "yes" and "1" are true; "false", "off", "no" and "0" are false: as if it were not given, or as the flag
 * "no-NAME" where there is one. A list replaces the one before. The strings are copied; what is set holds for data sets
 * and models that are opened after it, and for calls without either. A model that is open keeps what it was opened
 * with.
 *
 * NUC_BAD_USAGE: there is no such option, or the value is none; the message names what was probably meant, and nothing
 * is changed. Options that contradict each other are found by the next call that uses them.
 */
enum nuc_status nuc_option_set(struct nuc_compiler *c, const char *name, const char *text);

/* The compiler's options as they are now. Strings belong to the compiler, or to who gave them. */
void nuc_options_now(const struct nuc_compiler *c, struct nuc_options *out);

/*
 * The text that nuc_option_set() takes for the value that `o` has, where `from` has another one. NULL in *text: it is
 * the same, or another option of the same member says it. `from` may be NULL: the defaults. The text belongs to the
 * compiler. NUC_BAD_USAGE: there is no such option.
 */
enum nuc_status nuc_option_text(struct nuc_compiler *c, const char *name, const struct nuc_options *o,
                                const struct nuc_options *from, const char **text);

/*
 * What options are made of, for programs that have some of their own. nuc_option_parse() sets the member that `row`
 * says in the structure at `members` to the value of `text`; of a flag `text` is not read. What is set points into
 * `text`, which is cut at the commas of a list; the list is in `words`, to which those of `text` are added: there is
 * room for `n_words`. NUC_BAD_USAGE: it is no value of this kind; `message` then says so in one line.
 */
#define NUC_OPTION_MESSAGE 4096
enum nuc_status nuc_option_parse(const struct nuc_option_info *row, char *text, const char **words, size_t n_words,
                                 void *members, char message[NUC_OPTION_MESSAGE]);

/*
 * Who is told notes, and how far a step is; each may be NULL: nobody. They are called by the thread that called the
 * compiler, within the call, and may not call the compiler. Text is valid until they return. The progress as in struct
 * nuc_options.
 */
void nuc_listen(struct nuc_compiler *c, void (*warn)(void *user, const char *message),
                void (*progress)(void *user, const char *what, size_t done, size_t total), void *user);

#ifdef __cplusplus
}
#endif
#endif
