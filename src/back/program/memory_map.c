#include "back/program/memory_map.h"

#include <assert.h>
#include <stdlib.h>

#include "host/context.h"

#define BAR 40 /* characters of a lifetime */

static uint32_t last_step(const struct nuc_map_pool *p)
{
    uint32_t last = 0;

    for (size_t i = 0; i < p->n_tensors; i++)
        last = p->tensors[i].last > last ? p->tensors[i].last : last;
    return last;
}

static int by_address(const void *pa, const void *pb)
{
    const struct nuc_planned *a = pa, *b = pb;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->size > b->size ? -1 : a->size < b->size;
}

static int by_size(const void *pa, const void *pb)
{
    const struct nuc_planned *a = pa, *b = pb;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return by_address(pa, pb);
}

static struct nuc_planned *sorted(struct nuc_context *cx, const struct nuc_map_pool *p,
                                  int (*compare)(const void *a, const void *b))
{
    struct nuc_planned *tensors = nuc_copy(cx, p->tensors, p->n_tensors * sizeof *tensors);

    qsort(tensors, p->n_tensors, sizeof *tensors, compare);
    return tensors;
}

static void print_head(struct nuc_text *out, const struct nuc_map_pool *p)
{
    nuc_text_addf(out, "%s: %llu bytes, %llu alive at the peak%s\n", p->name, (unsigned long long)p->size,
                  (unsigned long long)p->bound, p->proven ? ", proven optimal" : "");
}

void nuc_print_memory_map(struct nuc_text *out, const struct nuc_memory_map *map)
{
    nuc_text_addf(out, "%s\n", map->file);
    for (size_t i = 0; i < map->n_pools; i++) {
        const struct nuc_map_pool *p = &map->pools[i];
        const struct nuc_planned *tensors = sorted(out->cx, p, by_address);
        uint32_t steps = last_step(p) + 1;
        nuc_text_addf(out, "\n");
        print_head(out, p);
        if (p->n_tensors > 0)
            nuc_text_addf(out, "   address       size  %ss 0 to %u, then the tensor\n", p->step, steps - 1);
        for (size_t k = 0; k < p->n_tensors; k++) {
            nuc_text_addf(out, "%10llu %10llu  ", (unsigned long long)tensors[k].address,
                          (unsigned long long)tensors[k].size);
            /* Columns of equal numbers of steps: '#' where the tensor lives in one of them. */
            uint32_t columns = steps < BAR ? steps : BAR;
            for (uint32_t c = 0; c < columns; c++) {
                uint64_t from = (uint64_t)c * steps / columns, to = ((uint64_t)c + 1) * steps / columns;
                nuc_text_add(out, tensors[k].first < to && tensors[k].last >= from ? "#" : ".", 1);
            }
            nuc_text_addf(out, "  %s\n", tensors[k].name);
        }
    }
}

/* The first step with the most bytes alive: bytes come with a tensor's first step and go after its last. */
static uint32_t peak_step(struct nuc_context *cx, const struct nuc_map_pool *p)
{
    uint32_t steps = last_step(p) + 1, peak = 0;
    int64_t *change = nuc_alloc_array(cx, (size_t)steps + 1, sizeof *change), live = 0, most = -1;

    for (size_t i = 0; i < p->n_tensors; i++) {
        assert(p->tensors[i].first <= p->tensors[i].last);
        change[p->tensors[i].first] += (int64_t)p->tensors[i].size;
        change[p->tensors[i].last + 1] -= (int64_t)p->tensors[i].size;
    }
    for (uint32_t t = 0; t < steps; t++) {
        live += change[t];
        if (live > most) {
            most = live;
            peak = t;
        }
    }
    return peak;
}

void nuc_print_memory_peak(struct nuc_text *out, const struct nuc_memory_map *map)
{
    for (size_t i = 0; i < map->n_pools; i++) {
        const struct nuc_map_pool *p = &map->pools[i];
        const struct nuc_planned *tensors = sorted(out->cx, p, by_size);
        uint32_t peak = peak_step(out->cx, p);
        print_head(out, p);
        nuc_text_addf(out, "  alive at %s %u:\n     address       size  tensor\n", p->step, peak);
        for (size_t k = 0; k < p->n_tensors; k++) {
            if (tensors[k].first <= peak && peak <= tensors[k].last)
                nuc_text_addf(out, "  %10llu %10llu  %s\n", (unsigned long long)tensors[k].address,
                              (unsigned long long)tensors[k].size, tensors[k].name);
        }
    }
}

/* ---- the picture ---- */

#define WIDTH 960  /* of a pool, in pixels */
#define HEIGHT 360 /* of a pool */
#define MARGIN 80  /* for the scale of addresses */
#define HEAD 40    /* for the title */
#define LETTER 7   /* width of a character */

/* Text inside an element of XML. */
static void add_escaped(struct nuc_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&' || *text == '<' || *text == '>' || *text == '"')
            nuc_text_addf(out, "&#%d;", *text);
        else if ((unsigned char)*text >= ' ')
            nuc_text_add(out, text, 1);
    }
}

static void draw_tensor(struct nuc_text *out, const struct nuc_map_pool *p, size_t index, double top, uint32_t steps)
{
    const struct nuc_planned *t = &p->tensors[index];
    double step = (double)WIDTH / steps, byte = (double)HEIGHT / (double)(p->size > 0 ? p->size : 1);
    double x = MARGIN + t->first * step, w = (t->last - t->first + 1.0) * step;
    double h = (double)t->size * byte, y = top + HEIGHT - (double)(t->address) * byte - h;

    nuc_text_addf(out, "<g><title>%llu bytes at %llu, %ss %u to %u: ", (unsigned long long)t->size,
                  (unsigned long long)t->address, p->step, t->first, t->last);
    add_escaped(out, t->name);
    /* A hue of its own for neighbours in the list: multiples of the golden angle. */
    nuc_text_addf(out,
                  "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"hsl(%u,60%%,75%%)\" "
                  "fill-opacity=\"0.8\" stroke=\"#333\" stroke-width=\"0.5\"/>",
                  x, y, w, h, (uint32_t)(index * 137 % 360));
    size_t letters = w > 2 * LETTER && h > 12 ? (size_t)(w / LETTER) - 1 : 0;
    if (letters > 2) {
        nuc_text_addf(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, y + h / 2 + 4);
        add_escaped(out, nuc_format(out->cx, "%.*s", (int)letters, t->name));
        nuc_text_addf(out, "</text>");
    }
    nuc_text_addf(out, "</g>\n");
}

void nuc_draw_memory_map(struct nuc_text *out, const struct nuc_memory_map *map)
{
    size_t height = map->n_pools * (HEIGHT + 2 * HEAD) + HEAD;

    nuc_text_addf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" font-family=\"monospace\" "
                  "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"24\" "
                  "font-size=\"14\">",
                  WIDTH + MARGIN + 20, height, MARGIN);
    add_escaped(out, map->file);
    nuc_text_addf(out, "</text>\n");
    for (size_t i = 0; i < map->n_pools; i++) {
        const struct nuc_map_pool *p = &map->pools[i];
        double top = (double)(i * (HEIGHT + 2 * HEAD)) + 2 * HEAD;
        uint32_t steps = last_step(p) + 1;
        nuc_text_addf(out, "<text x=\"%d\" y=\"%.1f\" font-size=\"13\">", MARGIN, top - 10);
        add_escaped(out, p->name);
        nuc_text_addf(out, ": %llu bytes%s</text>\n", (unsigned long long)p->size, p->proven ? ", proven optimal" : "");
        /* Lines at quarters of the size. */
        for (int q = 0; q <= 4; q++) {
            double y = top + HEIGHT - HEIGHT * q / 4.0;
            nuc_text_addf(out,
                          "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#bbb\"/>"
                          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%llu</text>\n",
                          MARGIN, y, MARGIN + WIDTH, y, MARGIN - 6, y + 4,
                          (unsigned long long)(p->size * (uint64_t)q / 4));
        }
        for (size_t k = 0; k < p->n_tensors; k++)
            draw_tensor(out, p, k, top, steps);
        nuc_text_addf(out, "<text x=\"%d\" y=\"%.1f\">%ss 0 to %u</text>\n", MARGIN, top + HEIGHT + 16, p->step,
                      steps - 1);
    }
    nuc_text_addf(out, "</svg>\n");
}
