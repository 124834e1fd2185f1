/* Names of functions and files of C. */
#include <string.h>
#include <strings.h>

#include "host/file.h"
#include "tools/codegen/codegen.h"
#include "tools/codegen/codegen_program.h"

/* In any locale. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool nuc_codegen_is_name_part(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

/* Files <name>.h in the path of the compiler hide C's; functions beginning with nuc_ are those of the runtime. */
static bool is_taken(const char *name)
{
    static const char *const headers[] = {
        "assert", "complex",     "ctype",  "errno",    "fenv",    "float",     "inttypes", "iso646", "limits", "locale",
        "math",   "setjmp",      "signal", "stdalign", "stdarg",  "stdatomic", "stdbool",  "stddef", "stdint", "stdio",
        "stdlib", "stdnoreturn", "string", "tgmath",   "threads", "time",      "uchar",    "wchar",  "wctype",
    };

    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        if (strcasecmp(name, headers[i]) == 0)
            return true;
    }
    return strcasecmp(name, "nuc") == 0 || strncasecmp(name, "nuc_", 4) == 0;
}

const char *nuc_codegen_name(struct nuc_context *cx, const char *path)
{
    const char *base = nuc_base_name(path);
    char *name = nuc_strdup(cx, nuc_format(cx, "%.*s", (int)strcspn(base, "."), base));

    for (char *c = name; *c != '\0'; c++)
        *c = nuc_codegen_is_name_part(*c) ? *c : '_';
    return is_letter(name[0]) && !is_taken(name) ? name : nuc_format(cx, "program_%s", name);
}

const char *nuc_codegen_capitals(struct nuc_context *cx, const char *name)
{
    char *out = nuc_strdup(cx, name);

    for (char *c = out; *c != '\0'; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return out;
}

void nuc_codegen_check_name(struct nuc_context *cx, const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        if (c == name ? !is_letter(*c) : !nuc_codegen_is_name_part(*c))
            nuc_fail(cx, NUC_BAD_USAGE, "'%s' is not a name for C functions: letters, digits and _", name);
    }
    if (*name == '\0')
        nuc_fail(cx, NUC_BAD_USAGE, "the name of the C functions is empty: letters, digits and _");
    if (is_taken(name))
        nuc_fail(cx, NUC_BAD_USAGE, "'%s' is a name of C's headers or of the runtime: give another one", name);
}
