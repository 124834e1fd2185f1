/* A tensor as torch describes it: its name, type, sizes and strides. */
#include "front/pt2/pt2_writer.h"
#include "front/pt2/torch_schema.h"

void nuc_put_name(struct nuc_context *cx, json_t *parent, const char *key, const char *name)
{
    nuc_put_string(cx, nuc_put_object(cx, parent, key), "name", name);
}

void nuc_put_tensor(struct nuc_context *cx, json_t *parent, const char *key, const char *name)
{
    nuc_put_name(cx, nuc_put_object(cx, parent, key), "as_tensor", name);
}

static void put_sym_ints(struct nuc_context *cx, json_t *parent, const char *key, const int64_t *values, uint32_t count)
{
    json_t *list = nuc_put_array(cx, parent, key);

    for (uint32_t i = 0; i < count; i++)
        nuc_put_int(cx, nuc_put_object(cx, list, NULL), "as_int", values[i]);
}

void nuc_put_tensor_meta(struct nuc_context *cx, json_t *parent, const char *key, const struct nuc_meta *meta,
                         const int64_t *strides, bool requires_grad)
{
    json_t *json = nuc_put_object(cx, parent, key);

    nuc_put_int(cx, json, "dtype", nuc_torch_dtype(meta->dtype));
    put_sym_ints(cx, json, "sizes", meta->sizes, meta->rank);
    nuc_put_bool(cx, json, "requires_grad", requires_grad);
    json_t *device = nuc_put_object(cx, json, "device");
    nuc_put_string(cx, device, "type", "cpu");
    nuc_put_null(cx, device, "index");
    put_sym_ints(cx, json, "strides", strides, meta->rank);
    nuc_put_int(cx, nuc_put_object(cx, json, "storage_offset"), "as_int", 0);
    nuc_put_int(cx, json, "layout", NUC_TORCH_STRIDED);
}

void nuc_put_value(struct nuc_pt2_writer *w, const char *name, const struct nuc_meta *meta, bool requires_grad)
{
    int64_t strides[NUC_MAX_RANK];

    nuc_dense_strides(meta, strides);
    nuc_put_tensor_meta(w->cx, w->tensor_values.container, name, meta, strides, requires_grad);
    nuc_json_member_done(w->cx, &w->tensor_values);
}
