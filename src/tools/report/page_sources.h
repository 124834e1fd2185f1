/* The files of page/, which embed.cmake makes arrays of: page.html, page.css, and all scripts in the order of names. */
#ifndef NUC_TOOLS_REPORT_PAGE_SOURCES_H
#define NUC_TOOLS_REPORT_PAGE_SOURCES_H

#include <stddef.h>

extern const char nuc_page_html[], nuc_page_css[], nuc_page_js[];
extern const size_t nuc_page_html_size, nuc_page_css_size, nuc_page_js_size;

#endif
