#include "quantize/precision.h"

#include <string.h>

#include "host/nearest.h"
#include "host/text.h"
#include "ir/labels.h"

static const char *const names[] = {
    [NUC_WIDTH_OPEN] = "", [NUC_WIDTH_INT8] = "int8", [NUC_WIDTH_INT16] = "int16", [NUC_WIDTH_FLOAT] = "float"};

/* OPEN: the entry says none. */
static enum nuc_width width_of(const char *entry)
{
    const char *text = strrchr(entry, '=');

    for (int width = NUC_WIDTH_INT8; text != NULL && text != entry && width <= NUC_WIDTH_FLOAT; width++) {
        if (strcmp(text + 1, names[width]) == 0)
            return (enum nuc_width)width;
    }
    return NUC_WIDTH_OPEN;
}

void nuc_check_precision(struct nuc_context *cx, const char *const *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (width_of(entries[i]) == NUC_WIDTH_OPEN)
            nuc_fail(cx, NUC_BAD_USAGE, "--precision: '%s' is not PATTERN=int8, PATTERN=int16 or PATTERN=float",
                     entries[i]);
    }
}

bool nuc_names_width(const char *const *entries, size_t count, enum nuc_width width)
{
    for (size_t i = 0; i < count; i++) {
        if (width_of(entries[i]) == width)
            return true;
    }
    return false;
}

static bool matches(struct nuc_graph *g, const struct nuc_labels *labels, const char *glob, const struct nuc_node *n)
{
    /* The module, or one that it is in. "decoder.*" is also the module itself. */
    const char *module = n->source->module;
    if (nuc_glob_matches(glob, n->name) || nuc_glob_matches(glob, labels->of[n->id]) ||
        nuc_glob_matches(glob, labels->value[n->id]))
        return true;
    for (size_t end = 0; module != NULL && module[0] != '\0'; end++) {
        if (module[end] != '.' && module[end] != '\0')
            continue;
        const char *path = nuc_format(g->cx, "%.*s", (int)end, module);
        if (nuc_glob_matches(glob, path) || nuc_glob_matches(glob, nuc_format(g->cx, "%s.", path)))
            return true;
        if (module[end] == '\0')
            break;
    }
    return false;
}

static const char *word_at(const void *list, size_t index)
{
    return ((const char *const *)list)[index];
}

#define MOST_SHOWN 6

/* What could have been meant: the nearest word, or else the first labels. */
static const char *candidates(struct nuc_graph *g, const struct nuc_labels *labels, const char *glob)
{
    const char **words = nuc_alloc_array(g->cx, 3 * (size_t)g->n_nodes + 1, sizeof *words);
    struct nuc_text shown = {.cx = g->cx};
    size_t count = 0, n_shown = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_operator(n))
            continue;
        if (n->source->module != NULL && n->source->module[0] != '\0')
            words[count++] = n->source->module;
        words[count++] = labels->of[n->id];
        words[count++] = n->name;
        if (n_shown < MOST_SHOWN)
            nuc_text_addf(&shown, "%s%s", n_shown > 0 ? ", " : "", labels->of[n->id]);
        n_shown++;
    }
    const char *near = nuc_did_you_mean(g->cx, glob, word_at, words);
    return nuc_format(g->cx, "%s: operators are %s%s", near, nuc_text_string(&shown),
                      n_shown > MOST_SHOWN ? ", ..." : "");
}

void nuc_mark_precision(struct nuc_graph *g, const char *const *entries, size_t count)
{
    const struct nuc_labels labels = nuc_label_graph(g);

    for (size_t i = 0; i < count; i++) {
        const char *glob = nuc_format(g->cx, "%.*s", (int)(strrchr(entries[i], '=') - entries[i]), entries[i]);
        bool any = false;
        for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
            if (!nuc_is_operator(n) || !matches(g, &labels, glob, n))
                continue;
            struct nuc_source *source = nuc_copy(g->cx, n->source, sizeof *source);
            source->width = width_of(entries[i]);
            source->wide = source->width == NUC_WIDTH_INT8 ? NULL : nuc_format(g->cx, "--precision %s", entries[i]);
            n->source = source;
            any = true;
        }
        if (!any)
            nuc_fail(g->cx, NUC_BAD_USAGE, "%s: --precision: no operator, label or module matches '%s'%s", g->file,
                     glob, candidates(g, &labels, glob));
    }
}

bool nuc_has_wide_values(const struct nuc_graph *g)
{
    const struct nuc_node *n = g->first;

    while (n != NULL && n->source->wide == NULL)
        n = n->next;
    return n != NULL;
}
