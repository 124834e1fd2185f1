#include "host/characters.h"
#include "host/text.h"
#include "litert/litert_ops.h"

static void print_shape(struct nuc_text *out, const int32_t *shape, uint32_t rank)
{
    nuc_text_addf(out, "[");
    for (uint32_t i = 0; i < rank; i++)
        nuc_text_addf(out, "%s%d", i == 0 ? "" : ", ", (int)shape[i]);
    nuc_text_addf(out, "]");
}

static void print_quant(struct nuc_text *out, const struct nuc_lt_quant *q)
{
    if (q->count == 0)
        return;
    nuc_text_addf(out, " scale %.9g zero_point %lld", (double)q->scale[0], (long long)q->zero_point[0]);
    if (q->count > 1)
        nuc_text_addf(out, " and %u more along axis %d", q->count - 1, (int)q->axis);
}

static void print_indices(struct nuc_text *out, const int32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0)
            nuc_text_addf(out, "%snone", i == 0 ? "" : ", ");
        else
            nuc_text_addf(out, "%s%%%d", i == 0 ? "" : ", ", (int)list[i]);
    }
}

static void print_field(struct nuc_text *out, const struct nuc_lt_field *f, const union nuc_lt_options *o)
{
    const void *member = nuc_lt_member(o, f);
    int value = nuc_lt_field_int(o, f, 0);
    const struct nuc_lt_list *list;

    switch (f->kind) {
    case NUC_LT_FIELD_PAIR:
        nuc_text_addf(out, " %s %dx%d", f->text, value, (int)nuc_lt_field_int(o, f, 1));
        break;
    case NUC_LT_FIELD_INT:
    case NUC_LT_FIELD_BYTE:
    case NUC_LT_FIELD_COUNT:
        if (value != 0 || f->kind != NUC_LT_FIELD_COUNT)
            nuc_text_addf(out, " %s %d", f->text, value);
        break;
    case NUC_LT_FIELD_FLAG:
        nuc_text_addf(out, "%s%s", value ? " " : "", value ? f->text : "");
        break;
    case NUC_LT_FIELD_REAL:
        nuc_text_addf(out, " %s %.9g", f->text, (double)*(const float *)member);
        break;
    case NUC_LT_FIELD_PADDING:
    case NUC_LT_FIELD_ACTIVATION:
        if (value != NUC_LT_ACT_NONE || f->kind == NUC_LT_FIELD_PADDING)
            nuc_text_addf(out, " %s", nuc_lt_field_name(o, f));
        break;
    case NUC_LT_FIELD_LIST:
        list = member;
        if (!list->present)
            break;
        nuc_text_addf(out, " to ");
        print_shape(out, list->values, list->count);
        break;
    case NUC_LT_FIELD_TEXT:
        nuc_text_addf(out, " %s '%s'", f->text, nuc_plain_text(out->cx, nuc_lt_field_text(o, f)));
        break;
    case NUC_LT_FIELD_BYTES:
        nuc_text_addf(out, " with %zu bytes of options", ((const struct nuc_span *)member)->size);
        break;
    }
}

static void print_op(struct nuc_text *out, struct nuc_context *cx, const struct nuc_lt_op *op)
{
    nuc_text_addf(out, "  ");
    print_indices(out, op->outputs, op->n_outputs);
    nuc_text_addf(out, " = %s", nuc_lt_code_name(cx, op->code));
    if (op->custom_code != NULL)
        nuc_text_addf(out, " '%s'", nuc_plain_text(out->cx, op->custom_code));
    nuc_text_addf(out, "(");
    print_indices(out, op->inputs, op->n_inputs);
    nuc_text_addf(out, ")");
    struct nuc_lt_fields fields = nuc_lt_fields(op->code);
    for (size_t i = 0; i < fields.n; i++) {
        if (fields.list[i].text != NULL)
            print_field(out, &fields.list[i], &op->options);
    }
    nuc_text_addf(out, "\n");
}

const char *nuc_lt_print(struct nuc_lt_model *m)
{
    struct nuc_text out = {.cx = m->cx};

    for (uint32_t k = 0; k < m->n_subgraphs; k++) {
        const struct nuc_lt_subgraph *s = &m->subgraphs[k];
        nuc_text_addf(&out, "subgraph %u '%s'\n  inputs ", k, s->name == NULL ? "" : nuc_plain_text(m->cx, s->name));
        print_indices(&out, s->inputs, s->n_inputs);
        nuc_text_addf(&out, "\n  outputs ");
        print_indices(&out, s->outputs, s->n_outputs);
        nuc_text_addf(&out, "\n");
        for (uint32_t i = 0; i < s->n_tensors; i++) {
            const struct nuc_lt_tensor *t = &s->tensors[i];
            nuc_text_addf(&out, "  %%%u %s", i, nuc_lt_type_name(t));
            print_shape(&out, t->shape, t->rank);
            if (t->data.data != NULL)
                nuc_text_addf(&out, " constant");
            if (t->is_variable)
                nuc_text_addf(&out, " variable");
            print_quant(&out, &t->quant);
            nuc_text_addf(&out, " '%s'\n", nuc_plain_text(out.cx, t->name));
        }
        for (uint32_t i = 0; i < s->n_ops; i++)
            print_op(&out, m->cx, &s->ops[i]);
    }
    return nuc_text_string(&out);
}
