/* The page: the sources of page/ with the object in their middle. */
#include <string.h>

#include "host/text.h"
#include "tools/report/full_report.h"
#include "tools/report/page_sources.h"

static void add_source(struct nuc_text *out, const char *element, const char *source, size_t size)
{
    nuc_text_addf(out, "<%s>\n", element);
    nuc_text_add(out, source, size);
    nuc_text_addf(out, "</%s>\n", element);
}

static bool is_line(const char *line, size_t length, const char *mark)
{
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    return length == strlen(mark) && memcmp(line, mark, length) == 0;
}

const char *nuc_report_page_text(struct nuc_context *cx, const char *json)
{
    const char *page = nuc_page_html, *end = page + nuc_page_html_size;
    struct nuc_text out = {.cx = cx};

    while (page < end) {
        const char *stop = memchr(page, '\n', (size_t)(end - page));
        size_t length = stop != NULL ? (size_t)(stop - page) : (size_t)(end - page);
        if (is_line(page, length, "<!--CSS-->"))
            add_source(&out, "style", nuc_page_css, nuc_page_css_size);
        else if (is_line(page, length, "<!--JS-->"))
            add_source(&out, "script", nuc_page_js, nuc_page_js_size);
        else if (is_line(page, length, "<!--DATA-->")) {
            /* JSON inside of an element of HTML: no text in it may end the element. */
            const char *from = json;
            nuc_text_addf(&out, "<script type=\"application/json\" id=\"report\">");
            for (const char *p; (p = strchr(from, '<')) != NULL; from = p + 1) {
                nuc_text_add(&out, from, (size_t)(p - from));
                nuc_text_addf(&out, "\\u003c");
            }
            nuc_text_add(&out, from, strcspn(from, "\n")); /* which ends the object */
            nuc_text_addf(&out, "</script>\n");
        } else
            nuc_text_addf(&out, "%.*s\n", (int)length, page);
        page += length + 1;
    }
    return nuc_text_string(&out);
}
