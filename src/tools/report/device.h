/* What a self-test on a device printed. */
#ifndef NUC_TOOLS_REPORT_DEVICE_H
#define NUC_TOOLS_REPORT_DEVICE_H

#include <jansson.h>

#include "host/context.h"
#include "nucleon/report.h"

/* As nuc_device_read(). */
const struct nuc_device_test *nuc_device_take(struct nuc_context *cx, const char *path, unsigned baud);

/* The same of what was read, which it takes apart. */
const struct nuc_device_test *nuc_device_parse(struct nuc_context *cx, const char *path, char *text);

/* The members of the object. */
void nuc_device_put(struct nuc_context *cx, json_t *to, const struct nuc_device_test *t);

#endif
