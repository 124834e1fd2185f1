#include "data/class_folders.h"

#include <ctype.h>
#include <string.h>

#include "host/nearest.h"
#include "host/text.h"

#define NONE SIZE_MAX

/* ---- by name ---- */

/* But for case and what is neither letter nor digit. */
static bool same_loosely(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a != '\0' && (unsigned char)*a < 128 && !isalnum((unsigned char)*a))
            a++;
        while (*b != '\0' && (unsigned char)*b < 128 && !isalnum((unsigned char)*b))
            b++;
        if (*a == '\0' || tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return *a == *b;
    }
}

/* The class of that name; NONE when there is none, or several. */
static size_t class_named(const struct nuc_classes *known, const char *name)
{
    size_t found = NONE, n = 0;

    for (size_t i = 0; i < known->n_names; i++) {
        if (strcmp(known->names[i], name) == 0)
            return i;
    }
    for (size_t i = 0; i < known->n_names; i++) {
        if (!same_loosely(known->names[i], name))
            continue;
        found = i;
        n++;
    }
    return n == 1 ? found : NONE;
}

/* ---- by number ---- */

/* "7", "007", "7_cat", "7-cat", "7 cat": 7. NONE: it does not begin with a number that stands alone. */
static size_t number_of(const char *name)
{
    size_t number = 0, digits = 0;

    for (; name[digits] >= '0' && name[digits] <= '9'; digits++) {
        if (digits == 9)
            return NONE;
        number = 10 * number + (size_t)(name[digits] - '0');
    }
    bool ends = name[digits] == '\0' || strchr("_-. ", name[digits]) != NULL;
    return digits > 0 && ends ? number : NONE;
}

/* Whether every folder has a number of its own; the largest of them. */
static bool number_all(const struct nuc_images *images, size_t *classes, size_t *largest)
{
    *largest = 0;
    for (size_t i = 0; i < images->n_classes; i++) {
        classes[i] = number_of(images->classes[i]);
        if (classes[i] == NONE)
            return false;
        *largest = classes[i] > *largest ? classes[i] : *largest;
    }
    return true;
}

/* Data sets sorted by name, as torchvision's ImageFolder has them, have class 10 before class 2. */
static void note_order(const struct nuc_dataset *d, const size_t *classes)
{
    for (size_t i = 1; i < d->files->n_classes; i++) {
        if (classes[i] > classes[i - 1])
            continue;
        nuc_warn(d->cx,
                 "%s: folders are the classes of their numbers; in the order of their names, in which torchvision's "
                 "ImageFolder counts, '%.40s' comes before '%.40s': rename them if the model was trained so",
                 d->path, d->files->classes[i - 1], d->files->classes[i]);
        return;
    }
}

const char *const *nuc_class_folder_names(const struct nuc_dataset *d)
{
    const struct nuc_images *images = d->files;
    size_t n = images->n_classes, largest;
    size_t *classes = nuc_alloc_array(d->cx, n, sizeof *classes);
    const char **names = nuc_alloc_array(d->cx, n, sizeof *names);
    bool numbered = number_all(images, classes, &largest) && largest + 1 == n;

    for (size_t i = 0; i < n && numbered; i++) {
        numbered = names[classes[i]] == NULL;
        names[classes[i]] = nuc_strdup(d->cx, images->classes[i]);
    }
    if (numbered)
        note_order(d, classes);
    for (size_t i = 0; i < n && !numbered; i++)
        names[i] = nuc_strdup(d->cx, images->classes[i]);
    return names;
}

/* ---- messages ---- */

static const char *class_at(const void *list, size_t index)
{
    const struct nuc_classes *known = list;

    return index < known->n_names ? known->names[index] : NULL;
}

#define MOST_LISTED 8

static const char *list_text(struct nuc_context *cx, const char *const *names, size_t n)
{
    struct nuc_text text = {.cx = cx};

    for (size_t i = 0; i < n && i < MOST_LISTED; i++)
        nuc_text_addf(&text, "%s'%.40s'", i == 0 ? "" : ", ", names[i]);
    nuc_text_addf(&text, n > MOST_LISTED ? ", ..." : "");
    return nuc_text_string(&text);
}

struct nuc_dataset *nuc_dataset_of_files(struct nuc_context *cx, const char *path, const struct nuc_images *files)
{
    struct nuc_dataset *d = nuc_alloc(cx, sizeof *d);
    const struct nuc_array labels =
        nuc_array_of("label", NUC_I64, files->count, files->labels, files->count * sizeof *files->labels);

    *d = (struct nuc_dataset){.cx = cx, .path = nuc_strdup(cx, path), .files = files};
    if (files->labels != NULL)
        d->arrays = (struct nuc_arrays){1, nuc_copy(cx, &labels, sizeof labels)};
    return d;
}

/* ---- labels ---- */

/* One folder a class; then the labels of the images are these classes. */
static void set_labels(struct nuc_dataset *d, const size_t *classes)
{
    const struct nuc_images *images = d->files;
    int64_t *labels = nuc_alloc_array(d->cx, images->count, sizeof *labels);
    size_t most = 0;

    for (size_t i = 0; i < images->n_classes; i++)
        most = classes[i] > most ? classes[i] : most;
    const char **folder_of = nuc_alloc_array(d->cx, most + 1, sizeof *folder_of);
    for (size_t i = 0; i < images->n_classes; i++) {
        if (folder_of[classes[i]] != NULL)
            nuc_fail(d->cx, NUC_BAD_INPUT, "%s: folders '%.60s' and '%.60s' are both class %zu: rename one", d->path,
                     folder_of[classes[i]], images->classes[i], classes[i]);
        folder_of[classes[i]] = images->classes[i];
    }
    for (size_t i = 0; i < images->count; i++)
        labels[i] = (int64_t)classes[images->labels[i]];
    d->arrays.items[0].data.data = (const uint8_t *)labels;
    d->class_of = classes;
}

bool nuc_label_class_folders(struct nuc_dataset *d, const struct nuc_classes *known)
{
    const struct nuc_images *images = d->files;
    size_t unknown = 0, largest = 0, first = 0;

    if (images == NULL || images->labels == NULL)
        return true;
    struct nuc_context *cx = d->cx;
    size_t *classes = nuc_alloc_array(cx, images->n_classes, sizeof *classes);
    for (size_t i = 0; i < images->n_classes; i++) {
        classes[i] = class_named(known, nuc_metadata_text(cx, images->classes[i]));
        first = classes[i] == NONE && unknown == 0 ? i : first;
        unknown += classes[i] == NONE;
    }
    if (unknown > 0 && unknown < images->n_classes)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: folder '%.60s' is none of the program's %zu classes%s: they are %s", d->path,
                 images->classes[first], known->n_names, nuc_did_you_mean(cx, images->classes[first], class_at, known),
                 list_text(cx, known->names, known->n_names));
    bool named = unknown == 0, numbered = !named && number_all(images, classes, &largest);
    if (numbered && largest == known->most && number_of(images->classes[0]) != 0 && images->n_classes == known->most)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: folders are numbered from 1 to %zu, classes from 0: rename them", d->path,
                 largest);
    numbered = numbered && largest < known->most;
    if (!named && !numbered && known->n_names > 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the folders %s are none of the program's %zu classes: they are %s", d->path,
                 list_text(cx, images->classes, images->n_classes), known->n_names,
                 list_text(cx, known->names, known->n_names));
    if (!named && !numbered)
        return false;
    set_labels(d, classes);
    if (numbered)
        note_order(d, classes);
    return true;
}
