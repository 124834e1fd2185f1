#include "host/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Longer words are compared up to here. A letter costs WHOLE, one of another case or '_' for '-' costs one. */
enum { MOST = 64, WHOLE = 4 };

static unsigned cost_of(char a, char b)
{
    if (a == b)
        return 0;
    bool alike = tolower((unsigned char)a) == tolower((unsigned char)b) || (strchr("-_.", a) && strchr("-_.", b));
    return alike ? 1 : WHOLE;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned rows[3][MOST + 1]; /* of the letters of `a` before the last one, up to the last one, and with this one */

    for (size_t k = 0; k <= m; k++)
        rows[1][k] = (unsigned)k * WHOLE;
    for (size_t i = 0; i < n; i++) {
        rows[2][0] = (unsigned)(i + 1) * WHOLE;
        for (size_t k = 0; k < m; k++) {
            unsigned d = rows[1][k] + cost_of(a[i], b[k]);
            d = least(d, least(rows[1][k + 1], rows[2][k]) + WHOLE);
            if (i > 0 && k > 0 && a[i] == b[k - 1] && a[i - 1] == b[k])
                d = least(d, rows[0][k - 1] + WHOLE);
            rows[2][k + 1] = d;
        }
        memcpy(rows[0], rows[1], sizeof rows[0]);
        memcpy(rows[1], rows[2], sizeof rows[1]);
    }
    return rows[1][m];
}

static size_t shorter(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* "add" is compared with the part of "aten.add.Tensor" in the middle. */
static const char *part_of(const char *word, const char *text, size_t *length)
{
    const char *first = strchr(word, '.');

    *length = strlen(word);
    if (first == NULL || strchr(text, '.') != NULL || isdigit((unsigned char)first[1]))
        return word;
    *length = strcspn(first + 1, ".");
    return first + 1;
}

const char *nuc_nearest(const char *text, nuc_word_at *word_at, const void *list)
{
    size_t n = shorter(strlen(text), MOST);
    unsigned best = 0;
    const char *found = NULL, *word;

    for (size_t i = 0; n > 0 && (word = word_at(list, i)) != NULL; i++) {
        size_t m;
        const char *part = part_of(word, text, &m);
        m = shorter(m, MOST);
        unsigned d = distance(text, n, part, m);
        bool holds = n > 3 && strstr(part, text) != NULL;
        bool begins = m > 3 && strncmp(text, part, m) == 0;
        bool near = holds || begins || 3 * d <= (unsigned)(n > m ? n : m) * WHOLE;
        if (near && (found == NULL || d < best)) {
            best = d;
            found = word;
        }
    }
    return found;
}

const char *nuc_did_you_mean(struct nuc_context *cx, const char *text, nuc_word_at *word_at, const void *list)
{
    const char *word = nuc_nearest(text, word_at, list);

    return word != NULL ? nuc_format(cx, " (did you mean '%s'?)", word) : "";
}

bool nuc_glob_matches(const char *glob, const char *text)
{
    const char *star = NULL, *resume = NULL; /* after the last *, and how far it has eaten */

    while (*text != '\0') {
        if (*glob == '*') {
            star = ++glob;
            resume = text;
        } else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        } else if (star != NULL) {
            glob = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == '\0';
}
